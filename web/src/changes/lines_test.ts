import { assertEquals } from "@std/assert";
import { type Line, linesOf, moreOf, rowsOf } from "./lines.ts";

const text = (count: number) => Array.from({ length: count }, (_, n) => `${n + 1}\n`).join("");

const shown = ({ kind, old, now, text }: Line) =>
  `${old ?? ""}|${now ?? ""}|${{ same: " ", insert: "+", delete: "-" }[kind]}${text}`;

Deno.test("lines have their old and new numbers, around removed and added ones", () => {
  const lines = linesOf({
    kind: "text",
    text: "a\nB\nB2\nc\nend",
    hunks: [
      { old_line: 2, new_line: 2, removed: ["b"], added: 2 },
      { old_line: 4, new_line: 4, removed: ["x"], added: 0 },
      { old_line: 4, new_line: 5, removed: [], added: 1 },
    ],
  }, false);
  assertEquals(lines.map(shown), [
    "1|1| a",
    "2||-b",
    "|2|+B",
    "|3|+B2",
    "3|4| c",
    "4||-x",
    "|5|+end",
  ]);
  assertEquals(lines[1].other, lines[2]);
  assertEquals(lines.at(-1)!.unended, true);
});

Deno.test("a new file is all new, a deleted one is all gone, an empty one has no lines", () => {
  const kind = "text" as const;
  assertEquals(linesOf({ kind, text: "a\nb\n", hunks: [] }, true).map(shown), ["|1|+a", "|2|+b"]);
  const gone = [{ old_line: 1, new_line: 0, removed: ["a", "b"], added: 0 }];
  assertEquals(linesOf({ kind, text: "", hunks: gone }, false).map(shown), ["1||-a", "2||-b"]);
  assertEquals(linesOf({ kind, text: "", hunks: [] }, true), []);
});

Deno.test("unchanged lines are left out until they are asked for, twenty at a time", () => {
  const lines = linesOf({
    kind: "text",
    text: text(100),
    hunks: [{ old_line: 50, new_line: 50, removed: ["fifty"], added: 1 }],
  }, false);
  const rows = rowsOf(lines, new Set(), false);
  assertEquals(rows.map(({ fold, left, right }) => fold ?? left?.old ?? right?.now), [
    [0, 46],
    ...[47, 48, 49, 50],
    ...[50, 51, 52, 53],
    [54, 101],
  ]);
  assertEquals(moreOf(lines, [0, 46], "more").at(0), 27);
  const below = moreOf(lines, [54, 101], "more");
  assertEquals([below.at(0), below.at(-1)], [54, 73]);
  assertEquals(moreOf(lines, [54, 101], "all").length, 47);
  assertEquals(rowsOf(lines, new Set(below), false).at(-1)!.fold, [74, 101]);
});

Deno.test("side by side, a replaced line stands beside the one that replaces it", () => {
  const lines = linesOf({
    kind: "text",
    text: "a\nB\nc\n",
    hunks: [{ old_line: 2, new_line: 2, removed: ["b", "b2"], added: 1 }],
  }, false);
  assertEquals(
    rowsOf(lines, new Set(), true).map(({ left, right }) => [left?.text, right?.text]),
    [["a", "a"], ["b", "B"], ["b2", undefined], ["c", "c"]],
  );
});

Deno.test("ten thousand lines take little time", () => {
  const hunks = Array.from({ length: 2_500 }, (_, n) => ({
    old_line: 4 * n + 1,
    new_line: 4 * n + 1,
    removed: ["before"],
    added: 1,
  }));
  const from = performance.now();
  const rows = rowsOf(linesOf({ kind: "text", text: text(10_000), hunks }, false), new Set(), true);
  assertEquals(rows.length, 10_000);
  assertEquals(performance.now() - from < 1_000, true);
});
