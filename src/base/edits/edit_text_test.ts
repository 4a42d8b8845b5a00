import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { EDIT_CASES } from "../../../bench/edits/cases.ts";
import { runEditCase } from "../../../bench/edits/run.ts";
import { decodeText, isUtf16 } from "./encoding.ts";
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
        {
          old_text: "stays\ngoes\n",
          new_text: "stays\ncomes\n",
          headers: ["class A"],
          at_end: false,
        },
        { old_text: "", new_text: "last\n", headers: [], at_end: true },
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

/** A text after hunks that are written as in a patch. */
const after = (text: string, ...lines: string[]) => {
  const [step] = parsePatch(patch("*** Update File: a", ...lines));
  return patchedText(text, step.kind === "update" ? step.hunks : []);
};
const refused = (text: string, ...lines: string[]) =>
  assertThrows(() => after(text, ...lines), EditProblem).message;

Deno.test("hunks are found in order, as whole lines, below the lines that @@ names", () => {
  const text = "def a():\n    x = 1\n    go()\n\ndef b():\n    x = 1\n    go()\n";
  const change = ["-    x = 1", "+    x = 2"];
  const second = "def a():\n    x = 1\n    go()\n\ndef b():\n    x = 2\n    go()\n";
  assertEquals(after(text, "@@ def b():", ...change), second);
  assertEquals(after(text, "@@ -5,3 +5,3 @@ def b():", ...change), second);
  assertEquals(after(text, "@@ def b():", " def b():", ...change), second);
  assertEquals(after(text, "@@", ...change, "@@", ...change), text.replaceAll("x = 1", "x = 2"));
  assertStringIncludes(refused(text, "@@", ...change), "2 times, at lines 2, 6");
  assertStringIncludes(
    refused(text, "@@ def c():", ...change),
    '"def c():", which @@ names; line 1',
  );
  assertStringIncludes(
    refused(text, "@@ def b():", ...change, "@@ def a():", ...change),
    "in the order",
  );
  assertStringIncludes(refused("foobar\n", "-bar", "+x"), "not found");
});

Deno.test("a file keeps the end of its last line, and gets lines where they are named", () => {
  assertEquals(after("one\r\ntwo", "-two", "+2", "*** End of File"), "one\r\n2");
  assertEquals(after("a\nb\na\n", "-a", "+c", "*** End of File"), "a\nb\nc\n");
  assertEquals(after("a\nb\n", "@@ a", "+x"), "a\nx\nb\n");
  assertEquals(after("a", "+b", "*** End of File"), "a\nb\n");
  assertEquals(after("a\nb\n", "-a"), "b\n");
  assertEquals(after("a\nb\n", "-a", "+"), "\nb\n");
  assertEquals(after("a\n\nb\n", " a", " ", "+x"), "a\n\nx\nb\n");
});

Deno.test("headers in a row lead further in, and what they leave open is refused", () => {
  const of = (name: string, ...body: string[]) => [`class ${name} {`, ...body, "}", ""];
  const run = ["  void run()", "  {", "    count = 1;", "  }"];
  const text = [...of("A", ...run), ...of("B", "  int x;", ...run), ...of("C", "  int y;")].join(
    "\n",
  );
  const change = ["-    count = 1;", "+    count = 2;"];
  const b = text.slice(text.indexOf("class B"));
  const done = text.replace(b, b.replace("count = 1", "count = 2"));
  assertEquals(after(text, "@@ class B", "@@ void run()", ...change), done);
  assertEquals(after(text, "@@ class B {", ...change), done);
  assertStringIncludes(refused(text, "@@ void run()", ...change), "2 times, at lines 4, 12");
  assertStringIncludes(refused(text, "@@ class C {", "@@ void run()", ...change), "not below");
  assertStringIncludes(refused(text, "@@ class C {", ...change), "line 4, which is not below");
  assertStringIncludes(
    refused(text, "@@ class A {", "+  int z;", "@@ class B {"),
    "no lines follow",
  );
});

Deno.test("a text is read in the encoding it is clearly in, and written back byte by byte", () => {
  const rows: [string, string, number[]][] = [
    // 日本語のテスト, エラー
    ["Shift-JIS", "エラー: 日本語のテスト\n", [
      ...[0x83, 0x47, 0x83, 0x89, 0x81, 0x5b, 0x3a, 0x20, 0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea],
      ...[0x82, 0xcc, 0x83, 0x65, 0x83, 0x58, 0x83, 0x67, 0x0a],
    ]],
    ["GBK", "错误：文件不存在\n", [
      ...[0xb4, 0xed, 0xce, 0xf3, 0xa3, 0xba, 0xce, 0xc4, 0xbc, 0xfe, 0xb2, 0xbb, 0xb4, 0xe6],
      ...[0xd4, 0xda, 0x0a],
    ]],
    [
      "Latin-1",
      "Grüße, naïve Ärzte à côté\n",
      Array.from(
        "Grüße, naïve Ärzte à côté\n",
        (char) => char.charCodeAt(0),
      ),
    ],
    ["UTF-16", "a line\r\n", Array.from("a line\r\n", (char) => [char.charCodeAt(0), 0]).flat()],
    ["UTF-16", "a line\n", Array.from("a line\n", (char) => [0, char.charCodeAt(0)]).flat()],
  ];
  for (const [encoding, text, bytes] of rows) {
    const file = decodeText(Uint8Array.from(bytes))!;
    assertEquals([file.encoding, file.text], [encoding, text]);
    assertEquals([...file.encode(text)], bytes);
  }
  assertEquals(
    isUtf16(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0)),
    false,
    "a program",
  );
});
