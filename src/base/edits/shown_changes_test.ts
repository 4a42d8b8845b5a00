import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { structuredPatch } from "diff";
import { type FileChange, hasAllChanges } from "./changes.ts";
import { recordedChanges, shownChanges } from "./shown_changes.ts";

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}\n`).join("");

Deno.test("only what differs is shown, with the lines around it and the number of the first", () => {
  const before = numbered(1, 200);
  const after = before.replace("line 50\n", "fifty\nand more\n").replace("line 150\n", "");
  assertEquals(shownChanges([{ path: "a", before, after }]), [
    {
      path: "a",
      before: numbered(47, 53),
      after: `${numbered(47, 49)}fifty\nand more\n${numbered(51, 53)}`,
      line: 47,
    },
    {
      path: "a",
      before: numbered(147, 153),
      after: numbered(147, 149) + numbered(151, 153),
      line: 147,
    },
  ]);
});

Deno.test("the parts are those of a difference of the whole texts", () => {
  let seed = 7;
  const random = (below: number) => (seed = seed * 48_271 % 2_147_483_647) % below;
  for (let round = 0; round < 400; round++) {
    const before = Array.from({ length: random(30) }, () => "abc"[random(3)].repeat(random(3)));
    const after = before.filter(() => random(8) > 0)
      .flatMap((line) => random(8) === 0 ? [line, "new"] : [line]);
    const ends = [random(4) === 0 ? "" : "\n", random(4) === 0 ? "" : "\n"];
    const [was, is] = [before, after].map((lines, n) => lines.join("\n") + ends[n]);
    const shown = shownChanges([{ path: "a", before: was, after: is }]);
    if (was === is) {
      assertEquals(shown, [{ path: "a", before: "", after: "" }]);
      continue;
    }
    // Put into the old text, the parts make the new one.
    const lines = was === "" ? [] : was.replace(/\n$/, "").split("\n");
    for (const { before, after, line } of shown.toReversed()) {
      const olds = before!.split("\n").slice(0, -1);
      const at = line! - 1;
      assertEquals(lines.slice(at, at + olds.length), olds, JSON.stringify([was, is, shown]));
      lines.splice(at, olds.length, ...after.split("\n").slice(0, -1));
    }
    assertEquals(lines, is === "" ? [] : is.replace(/\n$/, "").split("\n"));
    const { hunks } = structuredPatch("", "", was, is, "", "", { context: 3 });
    const changed = (lines: readonly string[]) => lines.filter((it) => /^[-+]/.test(it)).length;
    assert(shown.length <= hunks.length + changed(hunks.flatMap((it) => it.lines)));
  }
});

Deno.test("a text that becomes another is shown as a whole, however long the search would be", () => {
  const before = numbered(1, 6_000);
  const after = before.replaceAll("line", "row");
  const [first, ...rest] = shownChanges([{ path: "a", before, after }]);
  assertEquals(rest, []);
  assertEquals(first.line, 1);
  assertEquals(first.before, `${before.slice(0, first.before!.length - 2)}…\n`);
  assertStringIncludes(first.after, "row 1\nrow 2\n");
});

Deno.test("changes have at most 64 kB, and say where the rest is left out", () => {
  const long = "x".repeat(5_000_000);
  const many = Array.from({ length: 5_000 }, (_, n): FileChange => ({
    path: `${"p".repeat(200)}${n}`,
    before: "1\n",
    after: "2\n",
  }));
  const spread = numbered(1, 100_000);
  for (
    const changes of [
      [{ path: "a", before: long, after: `${long}y` }],
      [{ path: "a", before: `${long}\n`, after: `${long.toUpperCase()}\n` }],
      [{ path: "a", after: long, replaced: true as const }],
      many,
      [{ path: "a", before: spread, after: spread.replace(/0\n/g, "zero\n") }],
    ]
  ) {
    const shown = recordedChanges(changes)!;
    assert(JSON.stringify(shown).length < 128 * 1024, `${JSON.stringify(shown).length}`);
    assert(!hasAllChanges(shown));
  }
  const whole = recordedChanges([{ path: "a", before: "1\n", after: "2\n" }])!;
  assert(hasAllChanges(whole));
});

Deno.test("a file that stays the same has no text, one that loses its last line break has", () => {
  assertEquals(shownChanges([{ path: "a", before: "1\n", after: "1\n" }]), [
    { path: "a", before: "", after: "" },
  ]);
  assertEquals(shownChanges([{ path: "a", before: "1\n", after: "1" }]), [
    { path: "a", before: "1\n", after: "1\n", line: 1 },
  ]);
  assertEquals(shownChanges([{ path: "a", before: "", after: "1\n" }]), [
    { path: "a", before: "", after: "1\n", line: 1 },
  ]);
});

Deno.test("nothing is recorded where the arguments show all, and no text of a deleted file", () => {
  const added = { path: "new", after: "n\n" };
  const deleted = { path: "old", before: "o\n", after: "", deleted: true as const };
  assertEquals(recordedChanges([added]), undefined);
  assertEquals(recordedChanges([added, deleted]), undefined);
  assertEquals(recordedChanges([]), undefined);
  assertEquals(recordedChanges([{ path: "a", before: "1\n", after: "2\n" }, added, deleted]), [
    { path: "a", before: "1\n", after: "2\n", line: 1 },
    added,
    { path: "old", after: "", deleted: true },
  ]);
  const replaced = { path: "a.bin", after: "text\n", replaced: true as const };
  assertEquals(recordedChanges([replaced]), [replaced]);
});
