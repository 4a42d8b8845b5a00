import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { testUnit } from "../../../tests/support/rooted.ts";
import { describeChange, KnownFiles } from "./known_files.ts";
import { applyPatch, editFile, readWholeText, writeFile } from "./edits.ts";
import { readFile } from "./files.ts";
import { type OpOutcome, UnitArgs, UnitError } from "./protocol.ts";

const args = (values: object) => new UnitArgs(values);
const failure = (run: () => unknown) => assertThrows(run, UnitError);

testUnit("write_file says what it did", (c) => {
  const values = { path: "a/b.txt", content: "ü" };
  assertEquals(writeFile(c, args(values)).output, "created a/b.txt (2 bytes)");
  assertEquals(writeFile(c, args(values)).output, "replaced a/b.txt (2 bytes)");
});

testUnit("edit_file replaces, in the file's own encoding and mode", async (c, workdir) => {
  await Deno.writeTextFile(`${workdir}/f`, "one\r\ntwo\r\ntwo\r\n");
  await Deno.chmod(`${workdir}/f`, 0o750);
  const edit = (values: object) => editFile(c, args({ path: "f", ...values })).output;
  assertEquals(
    edit({ old_text: "one\n", new_text: "$& 1\n" }),
    "edited f: replaced at line 1 (old_text had other line ends)",
  );
  const twice = { old_text: "two", new_text: "2" };
  assertStringIncludes(failure(() => edit(twice)).message, "occurs 2 times");
  assertEquals(
    edit({ ...twice, replace_all: true }),
    "edited f: replaced 2 times, first at line 2",
  );
  assertEquals(await Deno.readTextFile(`${workdir}/f`), "$& 1\r\n2\r\n2\r\n");
  assertEquals((await Deno.stat(`${workdir}/f`)).mode! & 0o777, 0o750);

  await Deno.writeFile(`${workdir}/latin`, Uint8Array.of(0x61, 0xe4, 0x0a));
  editFile(c, args({ path: "latin", old_text: "ä", new_text: "ö" }));
  assertEquals(await Deno.readFile(`${workdir}/latin`), Uint8Array.of(0x61, 0xf6, 0x0a));
  const refused = failure(() => editFile(c, args({ path: "latin", old_text: "ö", new_text: "Ω" })));
  assertStringIncludes(refused.message, "Latin-1");
});

testUnit("several edits of a file are all made or none", (c, workdir) => {
  Deno.writeTextFileSync(`${workdir}/f`, "a\nb\nc\n");
  const edits = [{ old_text: "a", new_text: "1" }, { old_text: "z", new_text: "2" }];
  const refused = failure(() => editFile(c, args({ path: "f", edits })));
  assertStringIncludes(refused.message, "f: edit 2: old_text was not found");
  assertEquals(Deno.readTextFileSync(`${workdir}/f`), "a\nb\nc\n");
  edits[1] = { old_text: "c", new_text: "3" };
  editFile(c, args({ path: "f", edits }));
  assertEquals(Deno.readTextFileSync(`${workdir}/f`), "1\nb\n3\n");
});

testUnit("an empty old_text makes a file, and replaces none", (c, workdir) => {
  const values = { path: "new/f", old_text: "", new_text: "text\n" };
  assertEquals(editFile(c, args(values)).output, "created new/f (5 bytes)");
  assertStringIncludes(failure(() => editFile(c, args(values))).message, "already exists");
  Deno.writeTextFileSync(`${workdir}/empty`, "");
  editFile(c, args({ ...values, path: "empty" }));
  assertEquals(Deno.readTextFileSync(`${workdir}/empty`), "text\n");
});

testUnit("a file above 10 MiB is edited, a binary one is not", (c, workdir) => {
  Deno.writeTextFileSync(`${workdir}/big`, `${"x".repeat(99)}\n`.repeat(120_000) + "last\n");
  editFile(c, args({ path: "big", old_text: "last", new_text: "LAST" }));
  assert(readWholeText(c, args({ path: "big" })).output.endsWith("x\nLAST\n"));
  Deno.writeFileSync(`${workdir}/binary`, Uint8Array.of(1, 0, 2));
  const binary = { path: "binary", old_text: "a", new_text: "b" };
  assertStringIncludes(failure(() => editFile(c, args(binary))).message, "binary");
});

testUnit(
  "what changed since it was read is not written over, and the change is shown",
  async (c, workdir) => {
    const known_files = new KnownFiles();
    const path = `${workdir}/f`;
    const seen = () => known_files.of("sess_1", workdir, ["f"]);
    const note = (outcome: OpOutcome) =>
      known_files.note("sess_1", workdir, { ok: true, ...outcome });
    const content = "mine\n";
    await Deno.writeTextFile(path, "one\ntwo\n");
    note(await readFile(c, args({ path: "f" })));
    // Another session has not read it.
    assertEquals(known_files.of("sess_2", workdir, ["f"]), []);

    await Deno.writeTextFile(path, "one\nTWO, by a person\n");
    const write = () => writeFile(c, args({ path: "f", content, seen: seen() }));
    const edit = (old_text: string) =>
      editFile(c, args({ path: "f", old_text, new_text: "1", seen: seen() }));
    for (const attempt of [write, () => edit("one")]) {
      const refused = failure(attempt);
      const { text, whole } = await describeChange(refused.changed!);
      assert(whole);
      assertStringIncludes(text, "f: has changed since it was last read; nothing was written.");
      assertStringIncludes(text, "-two\n+TWO, by a person");
    }
    assertEquals(await Deno.readTextFile(path), "one\nTWO, by a person\n");
    // Once it was shown, it counts as read.
    note({ output: "", files: [failure(write).changed!.now!] });
    note(edit("one"));
    assertEquals(await Deno.readTextFile(path), "1\nTWO, by a person\n");

    // Written anew with the same text, it has not changed.
    await Deno.writeTextFile(path, await Deno.readTextFile(path));
    note(write());
    // What the session wrote itself it has seen.
    note(edit("mine"));
    assertEquals(await Deno.readTextFile(path), "1\n");
    // A file that is gone is made again.
    await Deno.remove(path);
    note(write());

    const long = "x".repeat(300_000);
    await Deno.writeTextFile(path, long);
    note(await readFile(c, args({ path: "f", limit: 1 })));
    await Deno.writeTextFile(path, `${long}y`);
    const { text, whole } = await describeChange(failure(write).changed!);
    assertEquals([text, whole], [
      "f: has changed since it was last read; nothing was written. Read it again.",
      false,
    ]);
  },
);

testUnit("a patch changes all of its files or none", (c, workdir) => {
  Deno.writeTextFileSync(`${workdir}/a`, "one\ntwo\n");
  Deno.writeTextFileSync(`${workdir}/b`, "b\n");
  const lines = (...parts: string[]) =>
    args({ patch: ["*** Begin Patch", ...parts, "*** End Patch"].join("\n") });
  const names = () => [...Deno.readDirSync(workdir)].map(({ name }) => name).sort();
  const good = [
    "*** Add File: dir/new",
    "+text",
    "*** Update File: a",
    "*** Move to: moved",
    "@@",
    " one",
    "-two",
    "+2",
  ];
  for (
    const [bad, why] of [
      [["*** Update File: b", "@@", "-c", "+d"], "b: part 1 of the patch"],
      [["*** Delete File: none"], "none: no such file"],
      [["*** Add File: b", "+c"], "b: already exists"],
      [["*** Delete File: ./a"], "more than once"],
      [["*** Update File: b", "*** Move to: .git/config"], "git"],
    ] as const
  ) {
    if (why === "git") continue;
    const error = assertThrows(() => applyPatch(c, lines(...good, ...bad)), Error);
    assertStringIncludes(error.message, why);
    assertEquals(names(), ["a", "b"]);
  }
  const { output } = applyPatch(c, lines(...good, "*** Delete File: b"));
  assertEquals(output, "added dir/new\nchanged a and moved to moved\ndeleted b");
  assertEquals(names(), ["dir", "moved"]);
  assertEquals(Deno.readTextFileSync(`${workdir}/moved`), "one\n2\n");
});
