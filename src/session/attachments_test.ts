import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { tinyPdf, tinyPng } from "../../tests/support/media.ts";
import { granted } from "../../tests/support/permissions.ts";
import { newSession, TempDir } from "../../tests/support/sessions.ts";
import type { Media } from "../base/media.ts";
import { Attachments, keepNamed } from "./attachments.ts";

const png: Media = { media_type: "image/png", name: "a.png", data: tinyPng() };
const pdf: Media = { media_type: "application/pdf", name: "b.pdf", data: tinyPdf() };

function test(name: string, fn: (dir: TempDir) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !granted("read", "write"),
    async fn() {
      using dir = new TempDir();
      await fn(dir);
    },
  });
}

test("bytes are kept once, and read back only if they are as they were", async (dir) => {
  const store = new Attachments(dir.join(""));
  assertEquals(store.any, false);
  const first = await store.put(png);
  const again = await store.put({ ...png, name: "other.png" });
  assertEquals(again, { ...first, name: "other.png" });
  const path = dir.join(`attachments/${first.hash}`);
  assertEquals([...Deno.readDirSync(dir.join("attachments"))].length, 1);
  assertEquals(store.read(first), png.data);

  const damages: (() => void)[] = [
    () => Deno.writeFileSync(path, png.data.with(40, png.data[40] ^ 1)),
    () => Deno.truncateSync(path, 10),
    () => Deno.truncateSync(path, 500_000_000),
    () => Deno.writeFileSync(path, new Uint8Array()),
    () => {
      Deno.removeSync(path);
      Deno.writeFileSync(dir.join("same"), png.data);
      Deno.symlinkSync(dir.join("same"), path);
    },
    () => {
      Deno.removeSync(path);
      Deno.mkdirSync(path);
    },
  ];
  for (const damage of damages) {
    damage();
    const note = damage.toString();
    assertEquals(store.read(first), undefined, note);
    assertEquals(store.find(first.hash, 1_000), undefined, note);
    Deno.removeSync(path, { recursive: true });
    // What is sent again is kept again.
    await store.put(png);
    assertEquals(store.read(first), png.data);
  }
  assertEquals(store.find("../same", 1_000), undefined);
  assertEquals(store.read({ hash: "..", bytes: 1 }), undefined);
});

test("a damaged file is written anew when the same bytes come again", async (dir) => {
  const store = new Attachments(dir.join(""));
  const kept = await store.put(png);
  Deno.writeFileSync(dir.join(`attachments/${kept.hash}`), new Uint8Array(69));
  await store.put(png);
  assertEquals(store.read(kept), png.data);
});

test("what no event names any more is removed, except for what was just written", async (dir) => {
  const session = await newSession(dir.join("journal.ndjson"));
  const store = await session.attachments();
  const [named, unnamed] = [await store.put(png), await store.put(pdf)];
  const recent = await store.put({ ...png, data: tinyPng({ width: 9 }) });
  await session.emit("user.message", { message_id: "m", text: "look", attachments: [named] });
  for (const { hash } of [named, unnamed]) {
    Deno.utimeSync(join(dir.join("attachments"), hash), 0, 0);
  }
  await keepNamed(store, session.journal);
  assert(store.read(named) && store.read(recent));
  assertEquals(store.read(unnamed), undefined);
  // One that is there already is as good as just written when it is sent again.
  const path = join(dir.join("attachments"), recent.hash);
  Deno.utimeSync(path, 0, 0);
  await store.put({ ...png, data: tinyPng({ width: 9 }) });
  await keepNamed(store, session.journal);
  assert(store.read(recent));
  session.journal.release();
});
