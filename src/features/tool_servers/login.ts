/**
 * A login by OAuth 2.1 with PKCE: the browser brings the code to a loopback address (RFC 8252).
 * Loaded when somebody logs in.
 */
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import { deadline } from "@std/async";
import { timingSafeEqual } from "node:crypto";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { VERSION } from "../../protocol/version.ts";
import { visibleLine } from "../../base/visible.ts";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "../../sdk/mcp_client.ts";
import { boundedFetch } from "./http.ts";
import { withinLimit } from "./link.ts";
import type { Login } from "./logins.ts";
import { clientMetadata, loginFetch, requireAllowed } from "./oauth.ts";
import type { HttpEntry } from "./policy.ts";

/** How long a person may take to approve it. */
const LOGIN_MS = 10 * 60_000;
/** Time limit for the servers to start and to finish it. */
const ANSWER_MS = 30_000;
/** How long the browser may take to read the last page. */
const PAGE_MS = 2_000;
/** The longest error description that is shown. */
const SAID_MAX = 300;

/** A login that a person must approve. */
export interface OpenLogin {
  /** The page where the person approves it. */
  url: string;
  /** An address of this machine that leads there once; safe in a command line. */
  open_url: string;
  expires_at: Date;
  /** Rejects with an {@linkcode SvcError} when it fails, expires or is cancelled. */
  done: Promise<Login>;
}

export interface LoginOptions {
  entry: Pick<HttpEntry, "url" | "oauth">;
  headers: Record<string, string>;
  client_secret?: string;
  /** Rights that a call lacked with the last login, separated by spaces. */
  scope?: string;
  signal: AbortSignal;
}

/**
 * Asks the server where to log in.
 *
 * @returns undefined if it requires no login
 * @throws {SvcError} unavailable or timeout if its answers lead to no login
 * @throws the signal's reason
 */
export async function beginLogin(options: LoginOptions): Promise<OpenLogin | undefined> {
  const { entry: { url, oauth }, headers, client_secret, scope, signal } = options;
  signal.throwIfAborted();
  const callback = new Callback(oauth?.port ?? 0);
  const cancel = () => callback.fail(signal.reason);
  signal.addEventListener("abort", cancel, { once: true });
  const close = async () => {
    signal.removeEventListener("abort", cancel);
    await callback.close();
  };
  let authorization: URL | undefined;
  let verifier = "";
  let client = oauth && { client_id: oauth.client_id, client_secret };
  let tokens: Login["tokens"] | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl: callback.address,
    clientMetadata: clientMetadata(callback.address),
    state: () => callback.state,
    clientInformation: () => client as Login["client"] | undefined,
    saveClientInformation: (it) => void (client = it as typeof client),
    tokens: () => tokens,
    saveTokens: (it) => void (tokens = it),
    redirectToAuthorization(it) {
      authorization = new URL(it);
      const scopes = `${it.searchParams.get("scope") ?? ""} ${scope ?? ""}`.split(" ");
      const all = [...new Set(scopes.filter(Boolean))];
      if (all.length > 0) authorization.searchParams.set("scope", all.join(" "));
    },
    saveCodeVerifier: (it) => void (verifier = it),
    codeVerifier: () => verifier,
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: loginFetch({ url, headers }, boundedFetch()),
    authProvider: provider,
  });
  try {
    if (!await isAsked(transport, signal)) {
      await close();
      return undefined;
    }
    if (authorization === undefined) {
      throw new SvcError("unavailable", "the server does not name a login page");
    }
    requireAllowed(new URL(url), authorization);
    const finish = async () => {
      try {
        const code = await callback.code;
        await withinLimit(ANSWER_MS, signal, () => transport.finishAuth(code));
        if (tokens === undefined || client === undefined) {
          throw new SvcError("unavailable", "the server returned no token");
        }
        return { client: client as Login["client"], tokens };
      } catch (error) {
        throw failed(error);
      } finally {
        await close();
      }
    };
    return {
      url: authorization.href,
      open_url: callback.leadTo(authorization),
      expires_at: new Date(Date.now() + LOGIN_MS),
      done: finish(),
    };
  } catch (error) {
    callback.fail(new SvcError("unavailable", "the login did not begin"));
    await close();
    throw failed(error);
  }
}

/** Reports whether the server demands a login. */
async function isAsked(
  transport: StreamableHTTPClientTransport,
  signal: AbortSignal,
): Promise<boolean> {
  const client = new Client({ name: "svc", version: VERSION });
  try {
    await withinLimit(ANSWER_MS, signal, async (limited) => {
      const options = { signal: limited, timeout: 2 * ANSWER_MS };
      await client.connect(transport as Transport, options);
      // Some demand it only for a request of content.
      if (client.getServerCapabilities()?.tools) await client.listTools(undefined, options);
    });
    await transport.terminateSession().catch(() => {});
    await client.close();
    return false;
  } catch (error) {
    if (error instanceof UnauthorizedError) return true;
    await client.close().catch(() => {});
    throw error;
  }
}

function failed(error: unknown): SvcError {
  if (error instanceof SvcError) return error;
  const said = visibleLine(messageOf(error)).slice(0, SAID_MAX);
  return new SvcError("unavailable", `the login failed: ${said}`, { cause: error });
}

/** The loopback address to which the browser brings the code. It takes one answer. */
class Callback {
  readonly state: string = crypto.getRandomValues(new Uint8Array(32)).toHex();
  readonly address: string;
  readonly #start = `/login/${crypto.getRandomValues(new Uint8Array(32)).toHex()}`;
  #page: URL | undefined;
  #started = false;
  readonly #host: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #code = Promise.withResolvers<string>();
  readonly #timer: number;
  #answered = false;

  constructor(port: number) {
    this.#code.promise.catch(() => {});
    try {
      this.#server = Deno.serve(
        { hostname: "127.0.0.1", port, onListen() {} },
        (request) => this.#answer(request),
      );
    } catch (cause) {
      throw new SvcError("conflict", `port ${port}, which the login needs, is in use`, {
        hint: "stop the program that uses it, or register another port",
        cause,
      });
    }
    this.#host = `127.0.0.1:${this.#server.addr.port}`;
    this.address = `http://${this.#host}/callback`;
    this.#timer = setTimeout(
      () => this.fail(new SvcError("timeout", "nobody approved the login within 10 minutes")),
      LOGIN_MS,
    );
  }

  get code(): Promise<string> {
    return this.#code.promise;
  }

  /**
   * Returns an address that leads to the page once. Other users can read a browser's command line,
   * and could otherwise log in there with their own account.
   */
  leadTo(page: URL): string {
    this.#page = page;
    return `http://${this.#host}${this.#start}`;
  }

  fail(reason: SvcError): void {
    this.#answered = true;
    this.#code.reject(reason);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    // Anyone on this machine can connect and never end a request.
    await deadline(this.#server.shutdown(), PAGE_MS).catch(() => {});
  }

  #answer(request: Request): Response {
    const { pathname, searchParams } = new URL(request.url);
    const host = request.headers.get("host");
    const known = pathname === "/callback" || pathname === this.#start;
    if (request.method !== "GET" || !known || host !== this.#host) {
      return page(404, "Not found.");
    }
    if (pathname === this.#start) return this.#lead();
    if (this.#answered || !same(searchParams.get("state") ?? "", this.state)) {
      return page(400, "This answer does not belong to a login of svc.");
    }
    this.#answered = true;
    const code = searchParams.get("code");
    if (code !== null) {
      this.#code.resolve(code);
      return page(200, "svc has the answer. You can close this page.");
    }
    const error = searchParams.get("error_description") ?? searchParams.get("error") ?? "no code";
    const said = visibleLine(error).slice(0, SAID_MAX);
    this.#code.reject(new SvcError("permission_denied", `the login was refused: ${said}`));
    return page(200, "The login was refused. You can close this page.");
  }

  #lead(): Response {
    if (this.#started) {
      this.fail(
        new SvcError("conflict", "the address of the login was opened twice", {
          hint: "another program may have read it; log in again",
        }),
      );
      return page(410, "This address was opened before. Log in again.");
    }
    this.#started = true;
    const { headers } = page(303, "");
    headers.set("location", this.#page!.href);
    return new Response(null, { status: 303, headers });
  }
}

function same(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => new TextEncoder().encode(text));
  return a.length === b.length && timingSafeEqual(a, b);
}

function page(status: number, text: string): Response {
  return new Response(`${text}\n`, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      connection: "close",
    },
  });
}
