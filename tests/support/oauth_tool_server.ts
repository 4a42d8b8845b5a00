/** A tool server by HTTP with its own authorization server: registration, PKCE, rotated refresh tokens. */
import { type HttpToolServer, startHttpToolServer } from "./tool_server_http.ts";

export interface OAuthToolServer extends HttpToolServer {
  /** The tokens it gave, newest last. */
  readonly tokens: string[];
  /** Requests of its authorization server, as method and path. */
  readonly asked: string[];
  /** No longer takes access tokens that it gave before; refresh tokens stay. */
  expire(): void;
  /** Takes nothing that it gave before. */
  revoke(): void;
  /** What the next page of the person does. */
  page: "allow" | "refuse";
}

interface Grant {
  challenge: string;
  redirect_uri: string;
  client_id: string;
}

/** Starts it on a free port. */
export function startOAuthToolServer(): OAuthToolServer {
  const tokens: string[] = [];
  const asked: string[] = [];
  const access = new Set<string>();
  const refresh = new Set<string>();
  const clients = new Map<string, string[]>();
  const codes = new Map<string, Grant>();
  const refused = (error: string) => Response.json({ error }, { status: 400 });
  const give = () => {
    const [token, next] = [1, 2].map(() => `token-${crypto.randomUUID()}`);
    tokens.push(token, next);
    access.add(token);
    refresh.add(next);
    return Response.json({
      access_token: token,
      refresh_token: next,
      token_type: "Bearer",
      expires_in: 3_600,
    });
  };
  const answers: Record<string, (request: Request, url: URL) => Response | Promise<Response>> = {
    "/.well-known/oauth-protected-resource/mcp": (_, { origin }) =>
      Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] }),
    "/.well-known/oauth-authorization-server": (_, { origin }) =>
      Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
      }),
    "/register": async (request) => {
      const { redirect_uris } = await request.json();
      const client_id = crypto.randomUUID();
      clients.set(client_id, redirect_uris);
      return Response.json({ client_id, redirect_uris }, { status: 201 });
    },
    "/authorize": (_, { searchParams }) => {
      const client_id = searchParams.get("client_id")!;
      const redirect_uri = searchParams.get("redirect_uri")!;
      if (!clients.get(client_id)?.includes(redirect_uri)) return refused("invalid_client");
      const back = new URL(redirect_uri);
      back.searchParams.set("state", searchParams.get("state")!);
      if (server.page === "refuse") {
        back.searchParams.set("error", "access_denied");
        back.searchParams.set("error_description", "no\x1b[31m thanks");
      } else {
        const code = crypto.randomUUID();
        const challenge = searchParams.get("code_challenge")!;
        codes.set(code, { challenge, redirect_uri, client_id });
        back.searchParams.set("code", code);
      }
      return Response.redirect(back, 302);
    },
    "/token": async (request) => {
      const form = new URLSearchParams(await request.text());
      const next = form.get("refresh_token");
      if (next !== null) return refresh.delete(next) ? give() : refused("invalid_grant");
      const grant = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const verifier = new TextEncoder().encode(form.get("code_verifier") ?? "");
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", verifier));
      const challenge = digest.toBase64({ alphabet: "base64url", omitPadding: true });
      const fits = grant?.challenge === challenge && grant.client_id === form.get("client_id") &&
        grant.redirect_uri === form.get("redirect_uri");
      return fits ? give() : refused("invalid_grant");
    },
  };
  const inner = startHttpToolServer({
    async instead(request) {
      const url = new URL(request.url);
      if (url.pathname !== "/mcp") {
        asked.push(`${request.method} ${url.pathname}`);
        return await answers[url.pathname]?.(request, url) ?? new Response(null, { status: 404 });
      }
      const given = request.headers.get("authorization")?.replace("Bearer ", "");
      if (given !== undefined && access.has(given)) return undefined;
      const metadata = `${url.origin}/.well-known/oauth-protected-resource/mcp`;
      return new Response(null, {
        status: 401,
        headers: { "www-authenticate": `Bearer resource_metadata="${metadata}"` },
      });
    },
  });
  const server: OAuthToolServer = {
    ...inner,
    tokens,
    asked,
    page: "allow",
    expire: () => access.clear(),
    revoke() {
      access.clear();
      refresh.clear();
    },
  };
  return server;
}
