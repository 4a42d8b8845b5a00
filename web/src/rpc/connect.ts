/** Finds the daemon that this page came from and connects to it. */
import type { Result } from "./api.ts";

/** How long one try may take, in milliseconds. */
export const ATTEMPT_DEADLINE_MS = 10_000;

/** What boot.ts has begun before the app's code is there. */
interface HeadStart {
  connection: Promise<WebSocket>;
  sessions: Promise<Result<"session.list">>;
}

interface Page {
  svc_head_start?: Partial<HeadStart>;
}

/** Begins the first connection, and asks for what every view shows. */
export function beginHeadStart(): void {
  const signal = AbortSignal.timeout(ATTEMPT_DEADLINE_MS);
  const found = discover(signal);
  const connection = found.then(open);
  const sessions = found.then(async ({ token }) => {
    const headers = { authorization: `Bearer ${token}` };
    return await okay(await fetch("/v1/sessions", { headers, signal })).json();
  });
  // Whoever takes them sees to it that they fail; until then that is no error of the page.
  for (const promise of [connection, sessions]) promise.catch(() => {});
  (globalThis as Page).svc_head_start = { connection, sessions };
}

/**
 * The connection of the head start, the first time; then another one.
 *
 * @returns a socket that may be open already.
 * @throws {Error} when nothing answers, or not with a discovery record.
 */
export async function connectDaemon(signal: AbortSignal): Promise<WebSocket> {
  return await taken("connection") ?? open(await discover(signal));
}

/** The sessions of the head start, once; undefined without it, or when they did not come. */
export async function firstSessions(): Promise<Result<"session.list"> | undefined> {
  return await taken("sessions")?.catch(() => undefined);
}

function taken<K extends keyof HeadStart>(part: K): Partial<HeadStart>[K] {
  const { svc_head_start = {} } = globalThis as Page;
  const promise = svc_head_start[part];
  delete svc_head_start[part];
  return promise;
}

/** Reads the discovery record on the page's own origin. @throws {Error} when there is none. */
export async function discover(signal: AbortSignal): Promise<Result<"daemon.discover">> {
  return await okay(await fetch("/v1/discover", { signal })).json();
}

function open({ token, port }: Result<"daemon.discover">): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${port}/v1/ws`, ["svc.bearer", token, "svc.proto.v1"]);
}

function okay(response: Response): Response {
  if (!response.ok) throw new Error(`the daemon answered ${response.status}`);
  return response;
}
