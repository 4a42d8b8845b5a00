/** Has code highlighted piece by piece, and remembers what was found. */
import type { Client } from "../rpc/client.ts";
import type { Token } from "../../../src/base/highlight/tokens.ts";

/** Longer code is shown as it is: drawing its tokens would take the page too long. */
export const CODE_MAX = 20_000;
/** Characters of code whose tokens are remembered: what was scrolled away comes back coloured. */
const REMEMBERED_MAX = 500_000;
/** Browsers without idle times get some by themselves, so far apart. */
const PAUSE_MS = 50;
/** As long as code waits for an idle time, in milliseconds. */
const IDLE_MS = 500;

/** Finds the tokens of code; rejects when it cannot. */
export type FindTokens = (code: string, language: string) => Promise<readonly Token[]>;

interface Wanted {
  code: string;
  language: string;
  take(tokens: readonly Token[]): void;
}

export interface HighlighterParts {
  /** Called when there is the first code to highlight. */
  load(): Promise<FindTokens>;
  /** Calls back when the page has nothing else to do: what was found is drawn then. */
  whenIdle(call: () => void): void;
}

export class Highlighter {
  readonly #parts: HighlighterParts;
  readonly #waiting = new Set<Wanted>();
  readonly #remembered = new Map<string, readonly Token[]>();
  #remembered_size = 0;
  #find: Promise<FindTokens> | undefined;
  #running = false;

  constructor(parts: HighlighterParts) {
    this.#parts = parts;
  }

  /** The tokens of code that was highlighted before. */
  known(code: string, language: string): readonly Token[] | undefined {
    const key = keyOf(code, language);
    const tokens = this.#remembered.get(key);
    if (tokens !== undefined) {
      this.#remembered.delete(key);
      this.#remembered.set(key, tokens);
    }
    return tokens;
  }

  /**
   * Highlights code after what was wanted before; code that is too long never.
   *
   * @param take told the tokens; one without colour when they cannot be found.
   * @returns what takes the wish back.
   */
  want(code: string, language: string, take: Wanted["take"]): () => void {
    const wanted = { code, language, take };
    if (code.length <= CODE_MAX) {
      this.#waiting.add(wanted);
      this.#run();
    }
    return () => this.#waiting.delete(wanted);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (const wanted of this.#waiting) {
      const { code, language } = wanted;
      const tokens = this.known(code, language) ?? await this.#tokens(code, language);
      await new Promise<void>((resolve) => this.#parts.whenIdle(resolve));
      // It may have gone out of sight meanwhile.
      if (this.#waiting.delete(wanted)) wanted.take(tokens);
    }
    this.#running = false;
  }

  async #tokens(code: string, language: string): Promise<readonly Token[]> {
    let tokens: readonly Token[];
    try {
      const find = await (this.#find ??= this.#parts.load());
      tokens = await find(code, language);
    } catch {
      tokens = [{ text: code }];
    }
    this.#remember(code, language, tokens);
    return tokens;
  }

  #remember(code: string, language: string, tokens: readonly Token[]): void {
    this.#remembered.set(keyOf(code, language), tokens);
    this.#remembered_size += code.length;
    for (const [key, old] of this.#remembered) {
      if (this.#remembered_size <= REMEMBERED_MAX) break;
      this.#remembered.delete(key);
      this.#remembered_size -= old.reduce((sum, { text }) => sum + text.length, 0);
    }
  }
}

/** The highlighter of a page. */
export function pageHighlighter(client: Client): Highlighter {
  return new Highlighter({
    async load() {
      await client.whenTrusted();
      const { TokenWorker } = await import("./token_worker.ts");
      const worker = new TokenWorker();
      return async (code, language) => {
        // It may have to be loaded again.
        await client.whenTrusted();
        return await worker.find(code, language);
      };
    },
    whenIdle(call) {
      // A page on which something moves has no idle time: it is taken after a while.
      if ("requestIdleCallback" in globalThis) {
        requestIdleCallback(() => call(), { timeout: IDLE_MS });
      } else setTimeout(call, PAUSE_MS);
    },
  });
}

function keyOf(code: string, language: string): string {
  return `${language}\n${code}`;
}
