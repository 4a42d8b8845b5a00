import type { Log } from "../../os/log.ts";

/** The most characters that one run of a server may write to the log. */
const LOGGED_MAX = 64 * 1024;
const LAST_MAX = 300;

/** Logs a tool server's standard error, masked and up to a limit. */
export class StderrLog {
  readonly #server: string;
  readonly #log: Log;
  readonly #mask: (text: string) => string;
  #room = LOGGED_MAX;
  /** The last line of this run, shortened. */
  last = "";

  constructor(server: string, log: Log, mask: (text: string) => string) {
    this.#server = server;
    this.#log = log;
    this.#mask = mask;
  }

  begin(): void {
    this.#room = LOGGED_MAX;
    this.last = "";
  }

  line(line: string): void {
    const text = this.#mask(line);
    this.last = text.slice(0, LAST_MAX);
    if (this.#room <= 0) return;
    this.#room -= text.length;
    const server = this.#server;
    this.#log.info("tool server", { server, stderr: text });
    if (this.#room <= 0) this.#log.warn("further output is not logged", { server });
  }
}
