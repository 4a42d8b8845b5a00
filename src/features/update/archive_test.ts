import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { deadline, delay } from "@std/async";
import { packTar } from "modern-tar";
import { join } from "@std/path";
import { gzipSync } from "node:zlib";
import { writeArchive } from "../../../install/release_archive.ts";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { extractFile } from "./archive.ts";

const ignore = !granted("read", "write");
const date = new Date("2000-01-01");
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Takes `svc` out of an archive. @returns what it holds. */
async function extracted(dir: string, archive: string): Promise<Uint8Array> {
  const path = join(dir, "out");
  const to = await Deno.open(path, { write: true, create: true, truncate: true });
  try {
    await extractFile({ archive, entry: "svc", to, signal: new AbortController().signal });
  } finally {
    to.close();
  }
  return await Deno.readFile(path);
}

type Entries = Parameters<typeof packTar>[0];

async function tarOf(dir: string, entries: Entries): Promise<string> {
  const path = join(dir, "some.tar.gz");
  await Deno.writeFile(path, gzipSync(await packTar(entries)));
  return path;
}

for (const format of ["tar.gz", "zip"]) {
  Deno.test({
    name: `a large file is taken out of a ${format}, whatever comes before and after`,
    ignore,
    async fn() {
      using dir = new TempDir();
      const svc = new Uint8Array(2_000_000);
      for (const [n] of svc.entries()) svc[n] = (n * n) >>> 8;
      const path = join(dir.path, `some.${format}`);
      const files = [
        { name: "LICENSE", bytes: bytesOf("as is") },
        {
          name: "man/svc.1",
          bytes: bytesOf("x".repeat(500_000)),
        },
        { name: "svc", bytes: svc, executable: true },
        { name: "z", bytes: bytesOf("z") },
      ];
      await writeArchive({ path, files, date });
      assertEquals(await extracted(dir.path, path), svc);
      await writeArchive({ path, files: files.filter(({ name }) => name !== "svc"), date });
      await assertRejects(() => extracted(dir.path, path), SvcError, "it has no file svc");
      await Deno.writeFile(path, (await Deno.readFile(path)).subarray(0, 200));
      await assertRejects(() => extracted(dir.path, path), SvcError, "cannot be unpacked");
    },
  });
}

const HOSTILE: [name: string, entries: Entries][] = [
  ["a link of its name", [{ header: { name: "svc", size: 0, type: "symlink", linkname: "/x" } }]],
  ["a directory of its name", [{ header: { name: "svc", size: 0, type: "directory" } }]],
  ["paths that lead out, and only those", [
    { header: { name: "../svc", size: 1 }, body: "x" },
    { header: { name: "/svc", size: 1 }, body: "x" },
    { header: { name: "./svc", size: 1 }, body: "x" },
  ]],
  ["the file twice", [
    { header: { name: "svc", size: 1 }, body: "a" },
    { header: { name: "svc", size: 1 }, body: "b" },
  ]],
];

for (const [name, entries] of HOSTILE) {
  Deno.test({
    name: `an archive with ${name} is refused, and nothing is made of it`,
    ignore,
    async fn() {
      using dir = new TempDir();
      const path = await tarOf(dir.path, entries);
      const { message } = await assertRejects(() => extracted(dir.path, path), SvcError);
      assertStringIncludes(message, "svc");
      assertEquals([...Deno.readDirSync(dir.path)].length, 2);
    },
  });
}

Deno.test({
  name: "an archive is given up wherever there is no more room, and nothing of it goes on",
  ignore,
  async fn() {
    using dir = new TempDir();
    const bytes = new Uint8Array(2_000_000);
    for (let at = 0; at < bytes.length; at += 50_000) {
      crypto.getRandomValues(bytes.subarray(at, at + 50_000));
    }
    const archive = join(dir.path, "some.tar.gz");
    const files = [{ name: "svc", bytes, executable: true }];
    for (let n = 0; n < 40; n++) {
      files.push({ name: `z${n}`, bytes: bytes.subarray(0, 40_000), executable: false });
    }
    await writeArchive({ path: archive, files, date });
    for (let room = 0; room < bytes.length; room += 50_000) {
      let left = room;
      const write = async (chunk: Uint8Array) => {
        // What comes next is on its way by then.
        await delay(1);
        left -= chunk.length;
        if (left < 0) throw new Error("No space left");
        return chunk.length;
      };
      const to = { write } as Deno.FsFile;
      const { signal } = new AbortController();
      const extracting = extractFile({ archive, entry: "svc", to, signal });
      await assertRejects(() => deadline(extracting, 20_000), Error, "No space left");
    }
  },
});

Deno.test({
  name: "the same files make the same archive, whatever their order",
  ignore,
  async fn() {
    using dir = new TempDir();
    const files = ["b", "a"].map((name) => ({ name, bytes: bytesOf(name) }));
    for (const format of ["tar.gz", "zip"]) {
      const [one, two] = ["1", "2"].map((name) => join(dir.path, `${name}.${format}`));
      await writeArchive({ path: one, files, date });
      await writeArchive({ path: two, files: files.toReversed(), date });
      assertEquals(await Deno.readFile(one), await Deno.readFile(two));
    }
  },
});
