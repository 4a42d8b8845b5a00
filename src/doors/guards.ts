/** Who may speak to the loopback listener (product.md Authentication, contract.md section 2). */

/** What a guard decides with. */
export interface GuardOptions {
  port: number;
  token: string;
  /** Origins beyond the fixed ones, from daemon.toml. */
  allowed_origins: readonly string[];
}

/** The checks of one daemon; cheap enough to run on every request. */
export class Guards {
  readonly #hosts: ReadonlySet<string>;
  /** How a URL begins that names this listener. */
  readonly #starts: readonly string[];
  readonly #origins: ReadonlySet<string>;
  readonly #readable: ReadonlySet<string>;
  readonly #token: string;

  constructor({ port, token, allowed_origins }: GuardOptions) {
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
    this.#hosts = new Set(hosts);
    this.#starts = hosts.map((host) => `http://${host}`);
    this.#readable = new Set(
      ["tauri://localhost", ...allowed_origins].filter((it) => it !== "null"),
    );
    this.#origins = new Set(["null", ...hosts.map((host) => `http://${host}`), ...this.#readable]);
    this.#token = token;
  }

  /**
   * Host pin: a rebound name shows here. A target in absolute form has an authority of its own, which
   * counts more than the header (RFC 9112, 3.2.2): both must name this listener.
   */
  host({ headers, url }: Pick<Request, "headers" | "url">): boolean {
    if (!this.#hosts.has(headers.get("host") ?? "")) return false;
    return this.#starts.some((start) =>
      url.startsWith(start) && (url.length === start.length || "/?#".includes(url[start.length]))
    );
  }

  /** Origin pin; an absent Origin is a client that is not a browser. */
  origin(origin: string | null): boolean {
    return origin === null || this.#origins.has(origin);
  }

  /**
   * Whether a page of an origin may read answers: those of daemon.toml and of the desktop shell. Not
   * `null`, which any sandboxed page has.
   */
  readable(origin: string): boolean {
    return this.#readable.has(origin);
  }

  /** Compares in a time that does not depend on where the difference is. */
  token(offered: string | undefined): boolean {
    if (offered === undefined) return false;
    const token = this.#token;
    if (offered.length !== token.length) return false;
    let difference = 0;
    for (let n = 0; n < token.length; n++) {
      difference |= offered.charCodeAt(n) ^ token.charCodeAt(n);
    }
    return difference === 0;
  }

  /** The bearer token of a request. */
  bearer(headers: Headers): boolean {
    const [, token] = headers.get("authorization")?.match(/^Bearer +([^\s]+)$/i) ?? [];
    return this.token(token);
  }
}

/** Subprotocols that a WebSocket client offers, in its order. */
export function offeredProtocols(headers: Headers): string[] {
  return (headers.get("sec-websocket-protocol") ?? "").split(",").map((it) => it.trim())
    .filter((it) => it !== "");
}

/** How a WebSocket upgrade is to be answered. */
export type Upgrade =
  | { refuse: 401 }
  | { protocol: string; migration: boolean };

/**
 * Decides an upgrade whose Host and Origin passed: `svc.bearer` and the token must be offered, then
 * the version is picked (contract.md section 2).
 */
export function decideUpgrade(offered: readonly string[], guards: Guards): Upgrade {
  const at = offered.indexOf("svc.bearer");
  if (at < 0 || !guards.token(offered[at + 1])) return { refuse: 401 };
  if (offered.includes("svc.proto.v1")) return { protocol: "svc.proto.v1", migration: false };
  const migration = offered.some((it) => it.startsWith("svc.proto."));
  return { protocol: "svc.bearer", migration };
}
