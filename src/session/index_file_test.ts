import { assert, assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { Random } from "../../tests/support/random.ts";
import { range, TempDir } from "../../tests/support/sessions.ts";
import { INDEX, type IndexEntries, IndexFile } from "./index_file.ts";

const ignore = !granted("read", "write");

function entry(last_seq: number) {
  return { workdir: "/w", started_at: "now", journal_path: "/w/journal.ndjson", last_seq };
}

Deno.test({
  name: "what was saved is read back, in a private file",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("index.json");
    const entries = { sess_1: entry(3), sess_2: entry(9) };
    await new IndexFile(path, INDEX, () => entries).save();
    assertEquals(await new IndexFile(path, INDEX, () => ({})).read(), { entries });
    if (Deno.build.os !== "windows") assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    assertEquals([...Deno.readDirSync(dir.path)].map((it) => it.name), ["index.json"]);
  },
});

Deno.test({
  name: "a file that cannot be used is told apart from none",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("index.json");
    const index = new IndexFile(path, INDEX, () => ({}));
    assertEquals(await index.read(), { problem: "is missing" });
    const shape = "is not a valid index";
    const cases: [string, string][] = [
      ["", "is not valid JSON"],
      ["\0\0\0\0", "is not valid JSON"],
      [JSON.stringify({ sess_1: entry(1) }).slice(0, -5), "is not valid JSON"],
      ["null", shape],
      ["[]", shape],
      ["7", shape],
      [JSON.stringify({ sess_1: null }), shape],
      [JSON.stringify({ sess_1: { ...entry(1), journal_path: 7 } }), shape],
      [JSON.stringify({ sess_1: { ...entry(1), last_seq: "1" } }), shape],
      [JSON.stringify({ sess_1: { workdir: "/w" } }), shape],
    ];
    for (const [text, problem] of cases) {
      Deno.writeTextFileSync(path, text);
      assertEquals(await index.read(), { problem }, text);
    }
  },
});

Deno.test({
  name: "each save is on the disk when it resolves; many at once cost few writes (30 seeds)",
  ignore,
  async fn() {
    for (let seed = 1; seed <= 30; seed++) {
      using dir = new TempDir();
      const random = new Random(seed);
      const path = dir.join("index.json");
      let entries: IndexEntries = {};
      let running = 0;
      let writes = 0;
      const index = new IndexFile(path, INDEX, () => {
        writes++;
        return entries;
      });
      const saves: Promise<void>[] = [];
      const save = async () => {
        running++;
        const wanted = Object.keys(entries).length;
        await index.save();
        running--;
        const saved = JSON.parse(Deno.readTextFileSync(path));
        assert(Object.keys(saved).length >= wanted, `seed ${seed}: a later save was overwritten`);
        // In the very turn in which a write ended.
        if (random.chance(0.2)) {
          entries = { ...entries, [`sess_${Object.keys(entries).length}`]: entry(1) };
          saves.push(save());
        }
      };
      for (const n of range(1, 100)) {
        entries = { ...entries, [`sess_${n + 1_000}`]: entry(n) };
        saves.push(save());
        for (let hops = random.below(4); hops > 0; hops--) await Promise.resolve();
        if (random.chance(0.05)) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      while (running > 0) await Promise.all(saves);
      assertEquals(JSON.parse(Deno.readTextFileSync(path)), entries, `seed ${seed}`);
      assert(writes < 100, `${writes} writes`);
      assertEquals([...Deno.readDirSync(dir.path)].map((it) => it.name), ["index.json"]);
    }
  },
});

Deno.test({
  name: "two writes never run side by side, also when one is asked for as another ends",
  ignore,
  async fn() {
    using dir = new TempDir();
    const random = new Random(1);
    let last = 0;
    const path = dir.join("index.json");
    const index = new IndexFile(path, INDEX, () => ({ sess_1: entry(++last) }));
    const done: Promise<unknown>[] = [];
    for (let n = 0; n < 200; n++) {
      const saved = index.save();
      // Asked for again at every possible distance from the end of that write.
      let chained: Promise<void> = saved;
      for (let hops = random.below(6); hops > 0; hops--) chained = chained.then(() => {});
      done.push(chained.then(() => index.save()), chained.then(() => index.save()));
      await saved;
      assert(temporaries(dir.path) <= 1, "two temporary files at once");
      await Promise.resolve();
    }
    await Promise.all(done);
    assertEquals((await index.read()).entries, { sess_1: entry(last) }, "the last write counts");
  },
});

function temporaries(dir: string): number {
  return [...Deno.readDirSync(dir)].filter((it) => it.name.endsWith(".tmp")).length;
}

Deno.test({
  name: "a write that fails is told, leaves the old file, and the next one works",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("index.json");
    let fails = false;
    const index = new IndexFile(path, INDEX, () => {
      if (fails) throw new Error("no entries");
      return { sess_1: entry(1) };
    });
    await index.save();
    fails = true;
    await assertRejects(() => index.save(), Error, "no entries");
    fails = false;
    assertEquals((await index.read()).entries, { sess_1: entry(1) });
    await Promise.all([index.save(), index.save()]);
    assertEquals(temporaries(dir.path), 0);
  },
});
