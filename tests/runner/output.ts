/** Reads what `deno test` prints about one file while it runs. */
import type { Outcome } from "../support/junit.ts";

/** How much of the output is kept, in characters. The errors are at its end. */
const KEPT = 400_000;

const OUTCOMES: Record<string, Outcome> = {
  ok: "ok",
  ignored: "ignored",
  FAILED: "FAILED",
  cancelled: "FAILED",
};

/**
 * What a run of one file has printed. The JUnit report is the exact account; this one is there while
 * the file runs, and when its process dies without a report.
 */
export class TestOutput {
  /** Number of tests in the file, once it is loaded. */
  total?: number;
  /** The tests that have ended, in their order. */
  readonly ended: { name: string; outcome: Outcome }[] = [];
  /** Whether an error outside of a test was reported. */
  uncaught = false;
  /** Whether a filter left out tests. */
  filtered = false;
  #text = "";
  #line = "";

  /** Takes a part of the output. @returns the names of the tests that failed in it. */
  take(text: string): string[] {
    // deno-lint-ignore no-control-regex -- colours
    const plain = text.replace(/\x1b\[[0-9;]*m/g, "");
    this.#text = (this.#text + plain).slice(-KEPT);
    const before = this.ended.length;
    const lines = (this.#line + plain).split(/\r?\n/);
    this.#line = lines.pop()!;
    for (const line of lines) this.#take(line);
    return this.ended.slice(before).flatMap(({ name, outcome }) =>
      outcome === "FAILED" ? name : []
    );
  }

  #take(line: string): void {
    const count = line.match(/^running (\d+) tests? from /)?.[1];
    if (count !== undefined) this.total = Number(count);
    const ended = line.match(/^(\S.*) \.\.\. (ok|FAILED|ignored|cancelled)(?: \(.*\))+$/);
    if (ended !== null) this.ended.push({ name: ended[1], outcome: OUTCOMES[ended[2]] });
    if (/^(ok|FAILED) \|.* \| \d+ filtered out/.test(line)) this.filtered = true;
    if (/^Uncaught error from .* FAILED$/.test(line)) this.uncaught = true;
  }

  /** Reports whether a test was ignored. */
  hasIgnored(name: string): boolean {
    return this.ended.some((it) => it.name === name && it.outcome === "ignored");
  }

  /** The test that has started and not ended, where the output tells. */
  get current(): string | undefined {
    const started = [...this.#text.matchAll(/^(\S.*) \.\.\.(?= *$)/gm)].at(-1)?.[1];
    return this.ended.some(({ name }) => name === started) ? undefined : started;
  }

  /** What Deno reports as errors; without any the end of the output. */
  get errors(): string {
    const [, errors] = this.#text.match(/^ ERRORS \n([^]*?)(?:^ FAILURES |^FAILED \||(?![^]))/m) ??
      [];
    return (errors ?? this.#text.split("\n").slice(-60).join("\n")).trim();
  }
}
