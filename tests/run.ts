/**
 * `deno test` with all permissions, and after it what was not run: by the name of what is missing,
 * and the number of tests. Arguments are what to test, and flags of `deno test`.
 */
import { dirname, fromFileUrl, relative } from "@std/path";
import { TextLineStream } from "@std/streams";
import { LACKING_FILE_ENV } from "./support/lacking.ts";

const DIRS = ["src", "web", "tests"];
const root = dirname(dirname(fromFileUrl(import.meta.url)));

/** The tests that a run ignored, by their files. */
export class Ignored {
  #counts = new Map<string, number>();
  /** Of which the tests follow, where a run has one file at a time. */
  #file = "";

  /** Takes a line of what `deno test` prints. */
  take(line: string): void {
    // deno-lint-ignore no-control-regex -- colours
    const text = line.replace(/\x1b\[[0-9;]*m/g, "");
    this.#file = text.match(/^running \d+ tests? from (\S+)$/)?.[1] ?? this.#file;
    const [, file = this.#file] = text.match(/^(?:(\.\/\S+) => )?.* \.\.\. ignored \(/) ?? [, ""];
    if (file !== "") this.#counts.set(file, (this.#counts.get(file) ?? 0) + 1);
  }

  /**
   * What is missing, and for how many tests.
   *
   * @param lacking what test files noted that they lack.
   */
  byReason(lacking: string): string[] {
    const reasons = new Map<string, Set<string>>();
    for (const line of lacking.split("\n").filter(Boolean)) {
      const [url, what] = line.split("\t");
      const file = `./${relative(root, fromFileUrl(url)).replaceAll("\\", "/")}`;
      reasons.set(file, (reasons.get(file) ?? new Set()).add(what));
    }
    const counts = new Map<string, number>();
    for (const [file, count] of this.#counts) {
      const missing = [...reasons.get(file) ?? []].sort().join(" or ");
      const reason = missing || "for another system, user or build";
      counts.set(reason, (counts.get(reason) ?? 0) + count);
    }
    return [...counts].sort().map(([reason, count]) => `${reason}: ${count}`);
  }
}

if (import.meta.main) {
  const lacking = await Deno.makeTempFile({ prefix: "svc-test-lacking-" });
  const args = Deno.args.some((arg) => !arg.startsWith("-")) ? Deno.args : [...DIRS, ...Deno.args];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--quiet", "--allow-all", "--parallel", ...args],
    env: {
      [LACKING_FILE_ENV]: lacking,
      ...(Deno.stdout.isTerminal() ? { FORCE_COLOR: "1" } : {}),
    },
    stdout: "piped",
  }).spawn();
  const ignored = new Ignored();
  const [shown, read] = child.stdout.tee();
  const showing = shown.pipeTo(Deno.stdout.writable, { preventClose: true });
  for await (
    const line of read.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
  ) ignored.take(line);
  await showing;
  const { code } = await child.status;
  const lines = ignored.byReason(await Deno.readTextFile(lacking));
  if (lines.length > 0) console.log(`Not run:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  await Deno.remove(lacking);
  Deno.exit(code);
}
