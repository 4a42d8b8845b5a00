import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { testUnit } from "../../../tests/support/rooted.ts";
import { RootedError } from "../rooted.ts";
import { writeFile } from "./edits.ts";
import { listDir, type OpContext, readFile, stat } from "./files.ts";
import { UnitArgs, UnitError } from "./protocol.ts";

const args = (values: unknown) => new UnitArgs(values);
const read = async (context: OpContext, values: object) =>
  (await readFile(context, args(values))).output;

testUnit(
  "read_file gives the text as it is, with its line ends and its byte order mark",
  async (c) => {
    const content = "\uFEFFone\r\ntwo\n\nlast ünïcödé 😀";
    writeFile(c, args({ path: "f", content }));
    assertEquals(await read(c, { path: "f" }), content);
  },
);

testUnit("read_file tells how to read on when it cut", async (c) => {
  const lines = Array.from({ length: 5210 }, (_, index) => `line ${index + 1}`);
  writeFile(c, args({ path: "f", content: lines.join("\n") + "\n" }));
  const first = await read(c, { path: "f" });
  assert(first.startsWith("line 1\n"));
  assert(first.endsWith("line 2000\n[lines 1–2000 of 5210; continue with offset 2001]"));
  const middle = await read(c, { path: "f", offset: 10, limit: 2 });
  assertEquals(middle, "line 10\nline 11\n[lines 10–11 of 5210; continue with offset 12]");
  assertEquals(await read(c, { path: "f", offset: 5209 }), "line 5209\nline 5210\n");
  const past = await assertRejects(() => read(c, { path: "f", offset: 6000 }), UnitError);
  assertStringIncludes(past.message, "has 5210 lines");
});

testUnit("read_file caps the whole and each line, without splitting a character", async (c) => {
  writeFile(c, args({ path: "wide", content: "😀".repeat(5000) + "\nnext\n" }));
  const [line, next] = (await read(c, { path: "wide" })).split("\n");
  assertEquals(line, "😀".repeat(1000) + " [line cut: it has 20001 bytes]");
  assertEquals(next, "next");
  writeFile(c, args({ path: "long", content: `${"x".repeat(1000)}\n`.repeat(1500) }));
  const text = await read(c, { path: "long" });
  assert(text.length <= 256 * 1024 + 2000);
  assertStringIncludes(text, "of 1500; continue with offset");
});

testUnit("read_file gives UTF-16 and Latin-1 as text", async (c, workdir) => {
  const units = Uint16Array.from("\ufeffgrün\r\n", (char) => char.charCodeAt(0));
  const both = new Uint8Array(units.buffer);
  await Deno.writeFile(`${workdir}/utf16`, both);
  assertEquals(await read(c, { path: "utf16" }), "grün\r\n");
  await Deno.writeFile(`${workdir}/latin`, Uint8Array.from("grün", (char) => char.charCodeAt(0)));
  assertEquals(await read(c, { path: "latin" }), "grün");
  await Deno.writeFile(`${workdir}/damaged`, both.subarray(0, both.length - 1));
  await assertRejects(() => read(c, { path: "damaged" }), UnitError, "damaged");
});

testUnit("read_file stops early in a file of many gigabytes", async (c, workdir) => {
  const path = `${workdir}/huge`;
  await Deno.writeTextFile(path, "a\n".repeat(10_000));
  await Deno.truncate(path, 8 * 1024 ** 3);
  const text = await read(c, { path: "huge", limit: 1 });
  assertEquals(text, "a\n[lines 1–1; continue with offset 2]");
});

testUnit("read_file refuses binary files, directories and bad arguments", async (c, workdir) => {
  await Deno.writeFile(`${workdir}/b`, new Uint8Array([65, 0, 66]));
  const binary = await assertRejects(() => read(c, { path: "b" }), UnitError);
  assertEquals(binary.message, "b: is a binary file (3 bytes)");
  await assertRejects(() => read(c, { path: "." }), Error, "is a directory");
  await assertRejects(() => read(c, {}), UnitError, `"path" must be a string`);
  await assertRejects(() => read(c, { path: "b", limit: 0 }), UnitError, "at least 1");
  assertThrows(() => args("text"), UnitError);
  await Deno.writeTextFile(`${workdir}/e`, "");
  assertEquals(await read(c, { path: "e" }), "[the file is empty]");
});

testUnit("stat says what a path stands for, and fails where there is nothing", (c, workdir) => {
  writeFile(c, args({ path: "d/f", content: "12345" }));
  Deno.symlinkSync("d", `${workdir}/link`);
  assertEquals(stat(c, args({ path: "d/f" })), "d/f: a file of 5 bytes");
  assertEquals(stat(c, args({ path: "link" })), "link: a directory");
  assertThrows(() => stat(c, args({ path: "none" })), RootedError, "no such file");
});

testUnit("list_dir sorts, marks directories and cuts at a thousand", async (c, workdir) => {
  await Deno.mkdir(`${workdir}/d/sub`, { recursive: true });
  await Deno.writeTextFile(`${workdir}/d/f`, "12345");
  assertEquals(listDir(c, args({ path: "d" })), "f  5 bytes\nsub/");
  assertEquals(listDir(c, args({ path: "d/sub" })), "[the directory is empty]");
  for (let index = 0; index < 1001; index++) await Deno.writeTextFile(`${workdir}/f${index}`, "");
  const lines = listDir(c, args({})).split("\n");
  assertEquals(lines.length, 1001);
  assertEquals(lines[1000], "[1000 of 1002 entries; use glob to find the others]");
});
