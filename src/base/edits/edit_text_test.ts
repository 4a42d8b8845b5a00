import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { EDIT_CASES } from "../../../bench/edits/cases.ts";
import { runEditCase } from "../../../bench/edits/run.ts";
import { decodeText } from "./encoding.ts";
import { patchedText } from "./apply_patch.ts";
import { EditProblem } from "./edit.ts";
import { editText } from "./edit_text.ts";
import { parsePatch } from "./patch.ts";

for (const edit of EDIT_CASES) {
  Deno.test(`edit: ${edit.name}`, () => {
    const result = runEditCase(edit);
    assertEquals(result, { ...result, verdict: "right" });
  });
}

function problem(text: string, old_text: string, new_text = "x"): string {
  return assertThrows(() => editText(text, { old_text, new_text }), EditProblem).message;
}

Deno.test("a refusal says where the nearest lines are and how they differ", () => {
  const text = "a\nfunction go() {\n  return one;\n}\nb\n";
  assertEquals(
    problem(text, "function go() {\n  return two;\n}\n"),
    "old_text was not found; lines 2–4 come nearest (1 of 3 lines alike): " +
      'line 3 is "  return one;", old_text has "  return two;"',
  );
  assertStringIncludes(problem("a\nsecond line", "second line\nthird line"), "is not there");
  assertStringIncludes(problem("a\n", "zebra"), "nor any of its lines");
  assertStringIncludes(problem("a\n", "a", "a"), "the same");
  assertStringIncludes(problem("a\n", "  \n\n"), "only blanks");
  assertStringIncludes(problem("a\nb\n", "a \nb", "a\nb"), "nothing would change");
});

Deno.test("an edit tells its line, how often and by which step", () => {
  const done = editText("a\nb \nb \n", { old_text: "b\n", new_text: "c\n", replace_all: true });
  assertEquals(done, { text: "a\nc\nc\n", line: 2, end: 6, times: 2, step: "trailing blanks" });
});

Deno.test("every encoding is written back byte by byte", () => {
  const all = Uint8Array.from({ length: 255 }, (_, byte) => byte + 1);
  assertEquals(decodeText(all)!.encode(decodeText(all)!.text), all);
  for (const text of ["", "plain\n", "\ufeffmarked\r\n", "grün 😀"]) {
    const bytes = new TextEncoder().encode(text);
    const file = decodeText(bytes)!;
    assert(!file.text.startsWith("\ufeff"));
    assertEquals(file.encode(file.text), bytes);
  }
  assertEquals(decodeText(Uint8Array.of(0xff, 0xfe, 0x00, 0xd8)), undefined, "half a character");
  assertThrows(() => decodeText(all)!.encode("Ω"), RangeError);
});

const patch = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

Deno.test("a patch is read step by step", () => {
  const steps = parsePatch(patch(
    "*** Add File: new.txt",
    "+one",
    "+",
    "*** Delete File: old.txt",
    "*** Update File: a.ts",
    "*** Move to: b.ts",
    "@@ class A",
    " stays",
    "-goes",
    "+comes",
    "@@",
    "+last",
    "*** End of File",
  ));
  assertEquals(steps, [
    { kind: "add", path: "new.txt", text: "one\n\n" },
    { kind: "delete", path: "old.txt" },
    {
      kind: "update",
      path: "a.ts",
      move_to: "b.ts",
      hunks: [
        { old_text: "stays\ngoes", new_text: "stays\ncomes", after: "class A", at_end: false },
        { old_text: "", new_text: "last", after: undefined, at_end: true },
      ],
    },
  ]);
  for (
    const [wrong, why] of [
      ["*** Update File: a", "must begin with"],
      [patch(), "changes no file"],
      [patch("a line"), "must name a file"],
      [patch("*** Add File: a", "text"), "begins with +"],
      [patch("*** Delete File: a", "text"), "nothing may follow"],
      [patch("*** Update File: a", "text"), "a blank, + or -"],
      [patch("*** Update File: a"), "changes nothing"],
    ]
  ) assertThrows(() => parsePatch(wrong), EditProblem, why);
});

Deno.test("hunks are found in order, as whole lines, after the line that @@ names", () => {
  const text = "def a():\n    x = 1\n    go()\n\ndef b():\n    x = 1\n    go()\n";
  const hunk = { old_text: "    x = 1", new_text: "    x = 2", at_end: false };
  assertEquals(
    patchedText(text, [{ ...hunk, after: "def b():" }]),
    "def a():\n    x = 1\n    go()\n\ndef b():\n    x = 2\n    go()\n",
  );
  assertThrows(() => patchedText(text, [hunk]), EditProblem, "2 times");
  assertThrows(() => patchedText(text, [{ ...hunk, after: "def c():" }]), EditProblem, "def c():");
  assertThrows(
    () => patchedText("foobar\n", [{ old_text: "bar", new_text: "x", at_end: false }]),
    EditProblem,
    "not found",
  );
  assertEquals(
    patchedText("one\r\ntwo", [{ old_text: "two", new_text: "2", at_end: true }]),
    "one\r\n2",
  );
  assertEquals(
    patchedText("a\nb\na\n", [{ old_text: "a", new_text: "c", at_end: true }]),
    "a\nb\nc\n",
  );
  assertEquals(
    patchedText("a\nb\n", [{ old_text: "", new_text: "x", after: "a", at_end: false }]),
    "a\nx\nb\n",
  );
  assertEquals(patchedText("a", [{ old_text: "", new_text: "b", at_end: true }]), "a\nb\n");
  assertEquals(patchedText("a\nb\n", [{ old_text: "a", new_text: "", at_end: false }]), "b\n");
});
