import { assertEquals, assertMatch } from "@std/assert";
import { progressOf } from "./update_progress.ts";

/** What is written while a release of 10 MB is installed. */
function written(terminal: boolean): string {
  let text = "";
  const progress = progressOf("1.2.3", { terminal, write: (it) => void (text += it) });
  for (const done of [0, 5e6, 10e6]) progress({ step: "downloading", done, total: 10e6 });
  for (const step of ["verified", "unpacked", "tried", "replaced"] as const) progress({ step });
  return text;
}

Deno.test("without a terminal an update is told line by line", () => {
  assertEquals(written(false).split("\n"), [
    "downloading svc 1.2.3 (10.0 MB)",
    "signature and SHA-256 are valid",
    "unpacked",
    "the new binary runs",
    "replaced",
    "",
  ]);
});

Deno.test("on a terminal the download is a bar that is drawn over, and ends full", () => {
  const [line] = written(true).split("\n");
  const drawn = line.split("\r").filter(Boolean);
  assertMatch(drawn[0], /^\[\.{24}\] {3}0 % {2}0\.0 of 10\.0 MB {2}svc 1\.2\.3$/);
  assertMatch(drawn.at(-1)!, /^\[#{24}\] 100 % {2}10\.0 of 10\.0 MB/);
});
