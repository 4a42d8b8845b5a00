/** Which requests the listener accepts (product.md Authentication, contract.md section 2). */

interface GuardOptions {
  port: number;
  token: string;
  /** Further origins from daemon.toml. */
  allowed_origins: readonly string[];
}

/** The checks of one daemon; cheap. */
export class Guards {
  readonly #hosts: ReadonlySet<string>;
  /** Starts of URLs that name this listener. */
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
   * Host pin, against DNS rebinding. An absolute target overrides the header (RFC 9112, 3.2.2),
   * so both must name this listener. In HTTP/2 there is only the target. It must have the address,
   * because the server gives `localhost` to a HTTP/1.1 request without any host.
   */
  host({ headers, url }: Pick<Request, "headers" | "url">): boolean {
    const host = headers.get("host");
    if (host === null) return startsAt(url, this.#starts[0]);
    if (!this.#hosts.has(host)) return false;
    // Nearly always the target has no authority of its own.
    return startsAt(url, `http://${host}`) || this.#starts.some((start) => startsAt(url, start));
  }

  /** Origin pin; a request without Origin does not come from a browser. */
  origin(origin: string | null): boolean {
    return origin === null || this.#origins.has(origin);
  }

  /** Whether pages of an origin may read responses. Never `null`, which any sandboxed page has. */
  readable(origin: string): boolean {
    return this.#readable.has(origin);
  }

  /** Compares in constant time. */
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

  bearer(headers: Headers): boolean {
    const [, token] = headers.get("authorization")?.match(/^Bearer +([^\s]+)$/i) ?? [];
    return this.token(token);
  }
}

/** Whether a URL starts with exactly this scheme and authority. */
function startsAt(url: string, start: string): boolean {
  return url.startsWith(start) &&
    (url.length === start.length || "/?#".includes(url[start.length]));
}

/** The subprotocols that a WebSocket client offers, in order. */
export function offeredProtocols(headers: Headers): string[] {
  return (headers.get("sec-websocket-protocol") ?? "").split(",").map((it) => it.trim())
    .filter((it) => it !== "");
}

/** The response to a WebSocket upgrade. */
type Upgrade =
  | { refuse: 401 }
  | { protocol: string; migration: boolean };

/** Checks an upgrade's token and picks a version (contract.md section 2). */
export function decideUpgrade(offered: readonly string[], guards: Guards): Upgrade {
  const at = offered.indexOf("svc.bearer");
  if (at < 0 || !guards.token(offered[at + 1])) return { refuse: 401 };
  if (offered.includes("svc.proto.v1")) return { protocol: "svc.proto.v1", migration: false };
  const migration = offered.some((it) => it.startsWith("svc.proto."));
  return { protocol: "svc.bearer", migration };
}
