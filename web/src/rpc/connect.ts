/** Finds the daemon that this page came from and connects to it. */
import type { Result } from "./api.ts";
import type { WayBack } from "./way_back.ts";

/** How long one try may take, in milliseconds. */
export const ATTEMPT_DEADLINE_MS = 10_000;

type Discovery = Result<"daemon.discover">;

/** What boot.ts has begun before the app's code is there. */
interface HeadStart {
  found: Promise<Discovery>;
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
    return await okay(await fetch("/v1/sessions?since=", { headers, signal })).json();
  });
  // Whoever takes them sees to it that they fail; until then that is no error of the page.
  for (const promise of [connection, sessions]) promise.catch(() => {});
  (globalThis as Page).svc_head_start = { found, connection, sessions };
}

/** The daemon of a page. After the first connection only one of the same home counts. */
export class DaemonLink {
  #token: string | undefined;
  #back: Promise<WayBack> | undefined;

  /** Of the latest daemon. */
  get token(): string | undefined {
    return this.#token;
  }

  /**
   * The connection of the head start, the first time; then another one.
   *
   * @returns a socket that may be open already.
   * @throws {Error} when nothing answers, or not as the daemon.
   */
  readonly connect = async (signal: AbortSignal): Promise<WebSocket> => {
    const found = this.#back?.then((back) => back(signal)) ?? taken("found") ?? discover(signal);
    const { token } = await found;
    this.#token = token;
    const back = this.#back ??
      import("./way_back.ts").then(({ wayBack }) => wayBack(token, signal));
    back.catch(() => {});
    const socket = await (taken("connection") ?? found.then(open));
    try {
      // A page that lost the daemon before it has its key could not come back.
      await back;
    } catch (error) {
      socket.close();
      throw error;
    }
    this.#back = back;
    return socket;
  };
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
async function discover(signal: AbortSignal): Promise<Discovery> {
  return await okay(await fetch("/v1/discover", { signal })).json();
}

function open({ token, port }: Discovery): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${port}/v1/ws`, ["svc.bearer", token, "svc.proto.v1"]);
}

function okay(response: Response): Response {
  if (!response.ok) throw new Error(`the daemon answered ${response.status}`);
  return response;
}
