import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { BeneathError, chooseBeneath } from "../beneath.ts";
import { editFile, listDir, type OpContext, readFile, stat, writeFile } from "./files.ts";
import { Pace } from "./pace.ts";
import { UnitArgs, UnitError } from "./protocol.ts";

const ignore = !granted("read", "write");

function test(name: string, run: (context: OpContext, workdir: string) => unknown): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      const workdir = await Deno.realPath(await Deno.makeTempDir({ prefix: "unit-" }));
      using beneath = chooseBeneath(workdir);
      try {
        const pace = new Pace(new AbortController().signal);
        await run({ fs: beneath.view([]), pace }, workdir);
      } finally {
        await Deno.remove(workdir, { recursive: true });
      }
    },
  });
}

const args = (values: unknown) => new UnitArgs(values);

test("read_file gives the text as it is, with its line ends and its byte order mark", async (c) => {
  const content = "\uFEFFone\r\ntwo\n\nlast ünïcödé 😀";
  writeFile(c, args({ path: "f", content }));
  assertEquals(await readFile(c, args({ path: "f" })), content);
});

test("read_file tells how to read on when it cut", async (c) => {
  const lines = Array.from({ length: 5210 }, (_, index) => `line ${index + 1}`);
  writeFile(c, args({ path: "f", content: lines.join("\n") + "\n" }));
  const first = await readFile(c, args({ path: "f" }));
  assert(first.startsWith("line 1\n"));
  assert(first.endsWith("line 2000\n[lines 1–2000 of 5210; read on with offset 2001]"));
  const middle = await readFile(c, args({ path: "f", offset: 10, limit: 2 }));
  assertEquals(middle, "line 10\nline 11\n[lines 10–11 of 5210; read on with offset 12]");
  assertEquals(await readFile(c, args({ path: "f", offset: 5209 })), "line 5209\nline 5210\n");
  const past = await assertRejects(() => readFile(c, args({ path: "f", offset: 6000 })), UnitError);
  assertStringIncludes(past.message, "has 5210 lines");
});

test("read_file caps the whole and each line, without splitting a character", async (c) => {
  writeFile(c, args({ path: "wide", content: "😀".repeat(5000) + "\nnext\n" }));
  const [line, next] = (await readFile(c, args({ path: "wide" }))).split("\n");
  assertEquals(line, "😀".repeat(1000) + " [line cut: it has 20001 bytes]");
  assertEquals(next, "next");
  writeFile(c, args({ path: "long", content: `${"x".repeat(1000)}\n`.repeat(1500) }));
  const text = await readFile(c, args({ path: "long" }));
  assert(text.length <= 256 * 1024 + 2000);
  assertStringIncludes(text, "of 1500; read on with offset");
});

test("read_file stops early in a file of many gigabytes", async (c, workdir) => {
  const path = `${workdir}/huge`;
  await Deno.writeTextFile(path, "a\n".repeat(10_000));
  await Deno.truncate(path, 8 * 1024 ** 3);
  const text = await readFile(c, args({ path: "huge", limit: 1 }));
  assertEquals(text, "a\n[lines 1–1; read on with offset 2]");
});

test("read_file refuses binary files, directories and bad arguments", async (c, workdir) => {
  await Deno.writeFile(`${workdir}/b`, new Uint8Array([65, 0, 66]));
  const binary = await assertRejects(() => readFile(c, args({ path: "b" })), UnitError);
  assertEquals(binary.message, "b: is a binary file (3 bytes)");
  await assertRejects(() => readFile(c, args({ path: "." })), Error, "is a directory");
  await assertRejects(() => readFile(c, args({})), UnitError, `"path" must be a string`);
  await assertRejects(() => readFile(c, args({ path: "b", limit: 0 })), UnitError, "from 1");
  assertThrows(() => args("text"), UnitError);
  await Deno.writeTextFile(`${workdir}/e`, "");
  assertEquals(await readFile(c, args({ path: "e" })), "[the file is empty]");
});

test("write_file says what it did", (c) => {
  const values = { path: "a/b.txt", content: "ü" };
  assertEquals(writeFile(c, args(values)), "created a/b.txt (2 bytes)");
  assertEquals(writeFile(c, args(values)), "replaced a/b.txt (2 bytes)");
});

test("edit_file replaces what occurs once, and everywhere when asked", async (c, workdir) => {
  writeFile(c, args({ path: "f", content: "one\r\ntwo\r\ntwo\r\n" }));
  const edit = (values: object) => editFile(c, args({ path: "f", ...values }));
  assertEquals(
    edit({ old_text: "one\r\n", new_text: "$& 1\r\n" }),
    "edited f: replaced at line 1",
  );
  const twice = { old_text: "two", new_text: "2" };
  assertStringIncludes(assertThrows(() => edit(twice), UnitError).message, "occurs 2 times");
  assertEquals(
    edit({ ...twice, replace_all: true }),
    "edited f: replaced 2 times, first at line 2",
  );
  assertEquals(await Deno.readTextFile(`${workdir}/f`), "$& 1\r\n2\r\n2\r\n");
});

test("edit_file says why it found nothing", async (c, workdir) => {
  writeFile(c, args({ path: "f", content: "a  b\r\nc\r\n" }));
  const why = (old_text: string) =>
    assertThrows(() => editFile(c, args({ path: "f", old_text, new_text: "x" })), UnitError)
      .message;
  assertStringIncludes(why("b\nc"), "other line ends");
  assertStringIncludes(why("a b"), "different whitespace");
  assertStringIncludes(why("z"), "was not found");
  assertStringIncludes(why("x"), "the same");
  assertStringIncludes(why(""), "is empty");
  await Deno.writeFile(`${workdir}/latin`, new Uint8Array([0xe4, 0x20]));
  const latin = { path: "latin", old_text: " ", new_text: "x" };
  assertStringIncludes(assertThrows(() => editFile(c, args(latin)), UnitError).message, "UTF-8");
});

test("stat says what a path stands for, and fails where there is nothing", (c, workdir) => {
  writeFile(c, args({ path: "d/f", content: "12345" }));
  Deno.symlinkSync("d", `${workdir}/link`);
  assertEquals(stat(c, args({ path: "d/f" })), "d/f: a file of 5 bytes");
  assertEquals(stat(c, args({ path: "link" })), "link: a directory");
  assertThrows(() => stat(c, args({ path: "none" })), BeneathError, "no such file");
});

test("list_dir sorts, marks directories and cuts at a thousand", async (c, workdir) => {
  await Deno.mkdir(`${workdir}/d/sub`, { recursive: true });
  await Deno.writeTextFile(`${workdir}/d/f`, "12345");
  assertEquals(listDir(c, args({ path: "d" })), "f  5 bytes\nsub/");
  assertEquals(listDir(c, args({ path: "d/sub" })), "[the directory is empty]");
  for (let index = 0; index < 1001; index++) await Deno.writeTextFile(`${workdir}/f${index}`, "");
  const lines = listDir(c, args({})).split("\n");
  assertEquals(lines.length, 1001);
  assertEquals(lines[1000], "[1000 of 1002 entries; glob finds the others]");
});
