import { assert, assertEquals } from "@std/assert";
import { type Output, type Progress, progressLine, Screen } from "./screen.ts";

const PROGRESS: Progress = {
  files: 430,
  files_done: 12,
  passed: 310,
  failed: 1,
  elapsed_ms: 8_400,
  running: ["tests/web/page_test.ts (binary)", "src/a_test.ts"],
};

/** Keeps what is written. */
class Paper implements Output {
  text = "";
  constructor(readonly terminal: boolean) {}
  columns(): number {
    return 40;
  }
  write(text: string): void {
    this.text += text;
  }
}

Deno.test("a line says how far a run is and what runs, and is cut to the screen", () => {
  assertEquals(
    progressLine(PROGRESS),
    "12/430 files, 310 passed, 1 failed, 8 s: tests/web/page_test.ts (binary), src/a_test.ts",
  );
  assertEquals(progressLine(PROGRESS, 30), "12/430 files, 310 passed, 1 f…");
  assertEquals(
    progressLine({ ...PROGRESS, elapsed_ms: 125_000, running: [] }),
    "12/430 files, 310 passed, 1 failed, 2 min 5 s",
  );
});

Deno.test("on a terminal the line moves, and failures stay above it", () => {
  const paper = new Paper(true);
  const screen = new Screen(paper, () => PROGRESS);
  screen.update();
  screen.failure("a_test.ts", "Error: broken");
  screen.update();
  const line = "\r\x1b[2K12/430 files, 310 passed, 1 failed, 8 …";
  assert(paper.text.startsWith(`${line}\r\x1b[2K`), JSON.stringify(paper.text));
  assert(paper.text.endsWith(`a_test.ts\n  Error: broken\n\n${line}`), JSON.stringify(paper.text));
});

Deno.test("elsewhere there are no escape codes, and a line only every half a minute", () => {
  const paper = new Paper(false);
  let elapsed_ms = 0;
  const screen = new Screen(paper, () => ({ ...PROGRESS, running: [], elapsed_ms }));
  for (; elapsed_ms <= 61_000; elapsed_ms += 1_000) screen.update();
  screen.failure("a_test.ts", "Error: broken");
  assertEquals(paper.text.split("\n"), [
    "12/430 files, 310 passed, 1 failed, 30 s",
    "12/430 files, 310 passed, 1 failed, 1 min 0 s",
    "FAILED a_test.ts",
    "  Error: broken",
    "",
    "",
  ]);
});
