/** What connections to tool servers need for OAuth: a saved login, and its allowed requests. */
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth";
import { SvcError } from "../../protocol/errors.ts";
import type { Login, LoginPlace, Logins, Refreshes } from "./logins.ts";

/** The server requires a login, and it is missing, expired or has too few rights. */
export class LoginNeeded extends SvcError {
  constructor(cause?: unknown) {
    super("unauthenticated", "it requires a login or another credential", { cause });
  }
}

/** How svc introduces itself to authorization servers. */
export function clientMetadata(redirect_uri: string): OAuthClientProvider["clientMetadata"] {
  return {
    client_name: "svc",
    redirect_uris: [redirect_uri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/**
 * Returns a provider that uses and refreshes a saved login, if any. Only a person starts a new
 * login.
 *
 * @param learn called with each login before the server sees its token
 */
export async function savedLogin(
  place: LoginPlace,
  logins: Logins,
  learn: (login: Login) => void,
): Promise<OAuthClientProvider | undefined> {
  let used = await logins.get(place);
  if (used === undefined) return undefined;
  learn(used);
  return {
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: clientMetadata("http://127.0.0.1/callback"),
    clientInformation: async () => {
      const login = await logins.get(place);
      if (login === undefined) throw new LoginNeeded();
      return login.client;
    },
    // Another authorization server must not see the login.
    saveDiscoveryState({ authorizationServerUrl }) {
      const issuer = used?.client.issuer;
      if (typeof issuer === "string" && !isSameIssuer(issuer, authorizationServerUrl)) {
        throw new LoginNeeded();
      }
    },
    async tokens() {
      const login = await logins.get(place);
      if (login !== undefined && login !== used) learn(used = login);
      return login?.tokens;
    },
    async saveTokens(tokens) {
      const login = await logins.get(place);
      // Logged out meanwhile, or logged in again as another client.
      if (login?.client.client_id !== used?.client.client_id || login === undefined) return;
      // Another call has already exchanged these for newer ones.
      if (logins.refreshesOf(place.name).has(tokens.refresh_token ?? "")) return;
      await logins.save(place, { client: login.client, tokens });
    },
    async invalidateCredentials(scope) {
      if (scope === "all" || scope === "client" || scope === "tokens") {
        await logins.remove(place.name, used);
      }
    },
    redirectToAuthorization({ searchParams }) {
      const scope = searchParams.get("scope");
      if (scope !== null) logins.lacking.set(place.name, scope);
      throw new LoginNeeded();
    },
    saveCodeVerifier() {},
    codeVerifier() {
      throw new LoginNeeded();
    },
  };
}

function isSameIssuer(...issuers: [string, string]): boolean {
  const [one, other] = issuers.map((it) => (URL.parse(it)?.href ?? it).replace(/\/$/, ""));
  return one === other;
}

/** How long a refresh also serves calls that read the old token before. */
const REFRESHED_MS = 10_000;

/** Time limit of an authorization server's answer. The protocol's package sets none. */
const ANSWER_MS = 30_000;

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns the `fetch` of one server's connection, whose answers name the addresses of its
 * authorization server. Those must be https, or on this machine if the server is: no plain http
 * request leaves this machine, and no remote server starts one to it. The server's headers go to no
 * other origin. Calls that find the same token expired share one refresh: many servers end the
 * login if a refresh token is used twice.
 *
 * @param refreshes the recent ones, shared by connections with the same login
 * @param limit_ms for a request to the authorization server, to the end of its answer
 */
export function loginFetch(
  { url, headers, auth }: {
    url: string;
    headers: Record<string, string>;
    auth?: Pick<OAuthClientProvider, "tokens">;
  },
  send: Fetch,
  refreshes: Refreshes = new Map(),
  limit_ms: number = ANSWER_MS,
): Fetch {
  const own = new URL(url);
  return async (to, init = {}) => {
    const target = new URL(to);
    if (target.origin === own.origin && target.pathname === own.pathname) {
      return await sendAsNow(send, to, init, auth);
    }
    requireAllowed(own, target);
    const given = new Headers(init.headers);
    if (target.origin !== own.origin) {
      for (const name of Object.keys(headers)) given.delete(name);
    }
    const limit = AbortSignal.timeout(limit_ms);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const request = { ...init, headers: given, signal };
    const token = init.body instanceof URLSearchParams ? init.body.get("refresh_token") : null;
    if (token === null) return send(to, request);
    const now = performance.now();
    for (const [each, { at }] of refreshes) {
      if (now - at > REFRESHED_MS) refreshes.delete(each);
    }
    const shared = refreshes.get(token) ?? { at: now, answer: send(to, request) };
    refreshes.set(token, shared);
    try {
      return (await shared.answer).clone();
    } catch (error) {
      if (refreshes.get(token) === shared) refreshes.delete(token);
      throw error;
    }
  };
}

/**
 * Repeats a request whose token was refreshed while it was sent. The protocol's package gives up
 * after a refusal that follows a refresh, even for a request from before.
 */
async function sendAsNow(
  send: Fetch,
  to: string | URL,
  init: RequestInit,
  auth: Pick<OAuthClientProvider, "tokens"> | undefined,
): Promise<Response> {
  const answer = await send(to, init);
  const headers = new Headers(init.headers);
  const used = headers.get("authorization");
  if (answer.status !== 401 || used === null) return answer;
  const now = (await auth?.tokens())?.access_token;
  if (now === undefined || used === `Bearer ${now}`) return answer;
  await answer.body?.cancel();
  headers.set("authorization", `Bearer ${now}`);
  return await send(to, { ...init, headers });
}

/** @throws {SvcError} permission_denied for an address that a login may not lead to */
export function requireAllowed(own: URL, target: URL): void {
  if (target.protocol === "https:" || isLoopback(own) && isLoopback(target)) return;
  throw new SvcError(
    "permission_denied",
    `its login is at ${target.origin}, which is not an https address`,
  );
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
