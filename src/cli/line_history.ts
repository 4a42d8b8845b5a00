/** Earlier messages of the session for a chat that goes line by line: Ctrl-R goes to older ones. */
import type { CallVerb } from "../features/verb_types.ts";

const MESSAGES = 100;
const PAGE = 5_000;

export class LineHistory {
  readonly #call: CallVerb;
  readonly #session_id: string;
  #lines: Promise<string[]> | undefined;
  #query = "";
  /** Where the last one was found, and what it is. */
  #at = 0;
  #found: string | undefined;

  constructor(call: CallVerb, session_id: string) {
    this.#call = call;
    this.#session_id = session_id;
  }

  /** Has what was said in the session read again at the next search. */
  changed(): void {
    this.#lines = undefined;
    this.#found = undefined;
  }

  /**
   * Returns the newest message with the typed text in it; asked with what it returned, an older one.
   *
   * @returns undefined if there is none
   */
  async older(typed: string): Promise<string | undefined> {
    const lines = await (this.#lines ??= this.#read());
    if (typed !== this.#found) {
      this.#query = typed.toLowerCase();
      this.#at = lines.length;
    }
    const at = lines.findLastIndex((line, n) =>
      n < this.#at && line !== typed && line.toLowerCase().includes(this.#query)
    );
    if (at < 0) return undefined;
    this.#at = at;
    return this.#found = lines[at];
  }

  /** The messages of one line, each once. */
  async #read(): Promise<string[]> {
    const texts: string[] = [];
    let from: object = { from_last: MESSAGES };
    for (let more = true; more;) {
      const page = await this.#call("session.history", {
        session_id: this.#session_id,
        ...from,
        limit: PAGE,
      });
      for (const { type, data } of page.events) {
        if (type === "user.message") texts.push(data.text);
      }
      more = page.more;
      from = { since_seq: page.last_seq };
    }
    const lines = texts.map((text) => text.trim()).filter((text) => !text.includes("\n"));
    return lines.filter((text, n) => text !== "" && lines.lastIndexOf(text) === n);
  }
}
