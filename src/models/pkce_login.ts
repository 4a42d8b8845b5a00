/**
 * Gets an API key from a provider in the browser: OAuth's authorization code with PKCE (RFC 7636),
 * which a local listener receives (RFC 8252).
 */
import { deadline } from "@std/async";
import { visibleLine } from "../base/visible.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { requireKey } from "./key_change.ts";

export interface PkceLogin {
  provider: string;
  /** The page on which the person agrees. */
  authorize_url: string;
  /** Where the code is exchanged for a key. */
  exchange_url: string;
  /**
   * Shows the person where to go.
   *
   * @param page the provider's page; with it, other users of this machine could have their own key
   * saved
   * @param once an address of this machine that leads there once; safe in a command line
   * @returns whether a browser opens the latter
   */
  show(page: string, once: string): Promise<boolean>;
  signal: AbortSignal;
  /** How long the person may take. */
  timeout_ms?: number;
  /** How long the exchange may take. */
  exchange_ms?: number;
}

const TIMEOUT_MS = 5 * 60_000;
const EXCHANGE_MS = 30_000;
/** How long the browser may take to read the last page. */
const PAGE_MS = 2_000;
const ANSWER_MAX = 64 * 1024;
/** The longest text of the provider that is shown. */
const SHOWN_MAX = 200;

/**
 * Waits until the person has agreed in the browser, and returns the key.
 *
 * @throws {SvcError} timeout if nothing came; permission_denied if the provider refused; validation
 * for an invalid answer
 * @throws the signal's reason
 */
export async function loginInBrowser(login: PkceLogin): Promise<string> {
  const { provider, show, timeout_ms = TIMEOUT_MS } = login;
  login.signal.throwIfAborted();
  const verifier = randomText();
  const [callback, start] = [`/callback/${randomText()}`, `/login/${randomText()}`];
  const { promise: outcome, resolve, reject } = Promise.withResolvers<string>();
  let page = "";
  let starts = 0;
  let answered = false;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const url = URL.parse(request.url);
    // Refuse another site's page or script that reaches this address by its own host name.
    if (request.headers.get("host") !== host) return text(403, "wrong address");
    const mode = request.headers.get("sec-fetch-mode") ?? "navigate";
    if (request.headers.has("origin") || mode !== "navigate") return text(403, "not for scripts");
    if (url?.pathname !== callback && url?.pathname !== start) return text(404, "not found");
    if (request.method !== "GET") return text(405, "only GET");
    if (url.pathname === start) {
      if (starts++ > 0) {
        reject(openedTwice());
        return text(410, "This address was already used. Log in again.");
      }
      return new Response(null, { status: 303, headers: { ...HEADERS, location: page } });
    }
    if (answered) return text(410, "This login is already complete.");
    answered = true;
    try {
      resolve(await keyFor(url.searchParams, verifier, login));
      return text(200, "You are logged in. You can close this page.");
    } catch (error) {
      reject(error);
      return text(400, "The login failed. Where you began it, you see why.");
    }
  });
  const host = `127.0.0.1:${server.addr.port}`;
  const asked = new URL(login.authorize_url);
  asked.searchParams.set("callback_url", `http://${host}${callback}`);
  asked.searchParams.set("code_challenge", await challengeOf(verifier));
  asked.searchParams.set("code_challenge_method", "S256");
  page = asked.href;
  const timer = setTimeout(() =>
    reject(
      new SvcError("timeout", `nobody logged in to ${provider} in the browser`, {
        hint: `run \`svc login ${provider}\` again, or enter a key with --key`,
      }),
    ), timeout_ms);
  const abort = () => reject(login.signal.reason);
  login.signal.addEventListener("abort", abort, { once: true });
  if (login.signal.aborted) abort();
  // It may end before the browser has opened.
  outcome.catch(() => {});
  try {
    if (login.signal.aborted) abort();
    // Marks the address as used, so that nobody else can.
    if (!await show(page, `http://${host}${start}`) && starts++ > 0) throw openedTwice();
    return await outcome;
  } finally {
    clearTimeout(timer);
    login.signal.removeEventListener("abort", abort);
    await deadline(server.shutdown(), PAGE_MS).catch(() => {});
  }
}

function openedTwice(): SvcError {
  return new SvcError("conflict", "the login address was opened twice", {
    hint: "another program may have read it; log in again",
  });
}

async function keyFor(
  answer: URLSearchParams,
  code_verifier: string,
  { provider, exchange_url, signal, exchange_ms = EXCHANGE_MS }: PkceLogin,
): Promise<string> {
  const error = answer.get("error");
  if (error !== null) {
    const said = shown(answer.get("error_description") ?? error);
    throw new SvcError("permission_denied", `${provider} refused the login: ${said}`);
  }
  const code = answer.get("code");
  if (code === null || code === "") {
    throw new SvcError("validation", `${provider} did not return a code`);
  }
  const body = JSON.stringify({ code, code_verifier, code_challenge_method: "S256" });
  let status: number;
  let sent: string;
  try {
    const response = await fetch(exchange_url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(exchange_ms)]),
    });
    status = response.status;
    sent = await readBounded(response);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new SvcError(
      "unavailable",
      `cannot exchange the code at ${provider}: ${messageOf(error)}`,
      {
        hint: `run \`svc login ${provider}\` again`,
      },
    );
  }
  const { key, error: problem } = parsed(sent);
  if (status !== 200) {
    const said = typeof problem === "object"
      ? (problem as { message?: unknown })?.message
      : problem;
    const why = typeof said === "string" ? `: ${shown(said)}` : "";
    throw new SvcError(
      "permission_denied",
      `${provider} returned status ${status} for the code${why}`,
    );
  }
  if (typeof key !== "string") {
    throw new SvcError("validation", `${provider} did not return a key`);
  }
  return requireKey(key);
}

function parsed(text: string): { key?: unknown; error?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  // Leaving the loop also ends the connection.
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) throw new Error(`more than ${ANSWER_MAX} characters`);
  }
  return text;
}

const HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'",
};

function text(status: number, said: string): Response {
  return new Response(`${said}\n`, { status, headers: HEADERS });
}

/** Makes foreign text safe for a terminal. */
function shown(said: string): string {
  return visibleLine(said.slice(0, SHOWN_MAX));
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

async function challengeOf(verifier: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64Url(new Uint8Array(hash));
}

function base64Url(bytes: Uint8Array<ArrayBuffer>): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
