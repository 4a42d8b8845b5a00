/** Parses git's output in the store of file states. */
import { SvcError } from "../../protocol/errors.ts";

/** Added and deleted lines by path; undefined for a binary file. */
export type Lines = Map<string, { added: number; deleted: number } | undefined>;

/** Parses `git cat-file --batch` incrementally. */
export class BatchReader {
  count = 0;
  readonly #take: (content: Uint8Array<ArrayBuffer>, n: number) => void;
  #header = "";
  #content: Uint8Array<ArrayBuffer> | undefined;
  #filled = 0;
  /** Whether the newline after a content is next. */
  #newline = false;

  constructor(take: (content: Uint8Array<ArrayBuffer>, n: number) => void) {
    this.#take = take;
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length || this.#isWhole;) {
      if (this.#newline) {
        at++;
        this.#newline = false;
      } else if (this.#content === undefined) {
        const end = chunk.indexOf(10, at);
        const part = chunk.subarray(at, end < 0 ? undefined : end);
        this.#header += new TextDecoder().decode(part);
        if (end < 0) return;
        at = end + 1;
        const [, size] = /^[0-9a-f]+ blob (\d+)$/.exec(this.#header) ?? [];
        if (size === undefined) {
          throw new SvcError("internal", `the store of file states lacks ${this.#header}`);
        }
        this.#header = "";
        this.#content = new Uint8Array(Number(size));
        this.#filled = 0;
      } else {
        const part = chunk.subarray(at, at + this.#content.length - this.#filled);
        this.#content.set(part, this.#filled);
        this.#filled += part.length;
        at += part.length;
      }
      if (this.#isWhole) {
        const content = this.#content!;
        this.#content = undefined;
        this.#newline = true;
        this.#take(content, this.count++);
      }
    }
  }

  get #isWhole(): boolean {
    return this.#content !== undefined && this.#filled === this.#content.length;
  }
}

/** Parses `diff-tree --stdin --numstat -z`: a line with two trees precedes each pair. */
export function parseLines(output: string): Lines[] {
  const found: Lines[] = [];
  const header = /[0-9a-f]{40,64} [0-9a-f]{40,64}\n/y;
  for (let at = 0; at < output.length;) {
    header.lastIndex = at;
    if (header.test(output)) {
      found.push(new Map());
      at = header.lastIndex;
      continue;
    }
    const end = output.indexOf("\0", at);
    const [added, deleted, ...path] = output.slice(at, end < 0 ? undefined : end).split("\t");
    const counts = { added: Number(added), deleted: Number(deleted) };
    if (path.length > 0) found.at(-1)?.set(path.join("\t"), added === "-" ? undefined : counts);
    at = end < 0 ? output.length : end + 1;
  }
  return found;
}

/** Splits at NUL; undefined for a name that is not UTF-8. */
export function splitNames(output: Uint8Array): (string | undefined)[] {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return strict.decode(output).split("\0");
  } catch {
    const names: (string | undefined)[] = [];
    for (let at = 0; at < output.length;) {
      const nul = output.indexOf(0, at);
      const end = nul < 0 ? output.length : nul;
      try {
        names.push(strict.decode(output.subarray(at, end)));
      } catch {
        names.push(undefined);
      }
      at = end + 1;
    }
    return names;
  }
}

export function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

export function lastLine(said: string): string {
  return said.split("\n").at(-1) || "it said nothing";
}
