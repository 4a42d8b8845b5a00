import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { dirname, join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import {
  journaled,
  laterFileTime,
  MemoryLog,
  newHub,
  TempDir,
} from "../../tests/support/sessions.ts";
import { ensurePrivateDir } from "../os/files.ts";
import { SvcError } from "../protocol/errors.ts";
import type { SessionEvent } from "../protocol/events.ts";
import type { Hub } from "./hub.ts";

const ignore = !granted("read", "write") || Deno.build.os === "windows";

/** A home and workdirs, with one hub after another as daemons would have them. */
class Home implements AsyncDisposable {
  readonly dir = new TempDir();
  readonly home = this.dir.join("home");
  readonly index = join(this.home, "sessions-index.json");
  readonly links = join(this.home, "journals");
  log = new MemoryLog();
  #hub: Hub | undefined;

  constructor() {
    ensurePrivateDir(this.home);
  }

  /** The hub of the next daemon; the one before is forgotten as by a crash. */
  async next(index_path = this.index): Promise<Hub> {
    await this.forget();
    this.log = new MemoryLog();
    this.#hub = newHub(this.home, { index_path, log: this.log });
    await this.#hub.restore();
    return this.#hub;
  }

  /** Stops the current hub, without grace. */
  async forget(): Promise<void> {
    await this.#hub?.stop(0);
    this.#hub = undefined;
  }

  /** Makes sessions and gives their ids and journals; then stops the daemon. */
  async filled(count: number) {
    const hub = await this.next();
    const made: { id: string; path: string; workdir: string }[] = [];
    for (let n = 0; n < count; n++) {
      const workdir = this.dir.mkdir(`work-${n}`);
      const { id, journal } = await hub.create({ workdir, model: "m/m", approval: "ask" });
      made.push({ id, path: journal.path, workdir });
    }
    await this.forget();
    await laterFileTime();
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.forget();
    this.dir[Symbol.dispose]();
  }
}

async function states(hub: Hub): Promise<Record<string, string>> {
  return Object.fromEntries((await hub.list(true)).map(({ id, state }) => [id, state]));
}

function types(events: SessionEvent[]): string[] {
  return events.map((event) => event.type);
}

function append(path: string, text: string | Uint8Array): void {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  Deno.writeFileSync(path, bytes, { append: true });
}

Deno.test({
  name: "sessions come back as they were: running, paused by the operator, ended",
  ignore,
  async fn() {
    await using home = new Home();
    const [running, paused, ended] = await home.filled(3);
    const hub = await home.next();
    await (await hub.get(paused.id)).pause("operator");
    await hub.kill(ended.id);
    const note = { lane_id: "main", text: "in use", reason_code: "test" };
    await (await hub.get(running.id)).emit("lane.note", note);
    const before = await journaled(ended.path);
    const again = await home.next();
    assertEquals(await states(again), {
      [running.id]: "running",
      [paused.id]: "paused",
      [ended.id]: "ended",
    });
    await Promise.all([again.get(running.id), again.get(running.id), again.get(paused.id)]);
    assertEquals(types(await journaled(running.path)).slice(-3), [
      "session.paused",
      "daemon.reloaded",
      "session.resumed",
    ]);
    assertEquals(types(await journaled(paused.path)).slice(-2), [
      "session.paused",
      "daemon.reloaded",
    ]);
    assertEquals(await journaled(ended.path), before);
    assertEquals((await again.list(false)).map((item) => item.id), [running.id, paused.id]);
    await assertRejects(async () => (await again.get(ended.id)).kill(), SvcError, "has ended");
  },
});

Deno.test({
  name: "a torn last line is cut, said in the log and in the session",
  ignore,
  async fn() {
    for (const tail of ['{"v":1,"seq":4,"at', '{"v":1,"seq":4,"at\n', new Uint8Array(64)]) {
      await using home = new Home();
      const [torn, well] = await home.filled(2);
      append(torn.path, tail);
      const hub = await home.next();
      assertEquals(Object.values(await states(hub)), ["running", "running"]);
      assertEquals(home.log.of("warn"), ["cut off the torn last line of a journal"]);
      const { fields } = home.log.lines.find((line) => line.level === "warn")!;
      assertEquals(fields, { session_id: torn.id, path: torn.path, torn_bytes: tail.length });
      const events = await journaled(torn.path);
      assertEquals(types(events).slice(-4), [
        "session.paused",
        "lane.note",
        "daemon.reloaded",
        "session.resumed",
      ]);
      const note = events.at(-3)!;
      assert(note.type === "lane.note");
      assertEquals(note.data.reason_code, "journal_torn");
      assertStringIncludes(note.data.text, `${tail.length} bytes`);
      assert(!types(await journaled(well.path)).includes("lane.note"));
    }
  },
});

Deno.test({
  name: "killing an unreadable session takes it out of the lists for good, its file is untouched",
  ignore,
  async fn() {
    await using home = new Home();
    const [bad, well] = await home.filled(2);
    Deno.writeTextFileSync(bad.path, "garbage\n{}\n");
    const hub = await home.next();
    await hub.kill(bad.id);
    assertEquals((await hub.list(true)).map(({ id }) => id), [well.id]);
    assertEquals((await assertRejects(() => hub.kill(bad.id), SvcError)).code, "not_found");
    const again = await home.next();
    assertEquals((await again.list(true)).map(({ id }) => id), [well.id]);
    assertEquals(Deno.readTextFileSync(bad.path), "garbage\n{}\n");
    assertEquals([...Deno.readDirSync(home.links)].map(({ name }) => name), [well.id]);
  },
});

Deno.test({
  name: "what cannot be read makes its session unreadable, untouched, and no other",
  ignore,
  async fn() {
    await using home = new Home();
    const made = await home.filled(7);
    const [middle, newer, gap, missing, linked, directory, well] = made;
    const lines = (path: string) => Deno.readTextFileSync(path).trimEnd().split("\n");
    const rewrite = (path: string, change: (lines: string[]) => string[]) =>
      Deno.writeTextFileSync(path, `${change(lines(path)).join("\n")}\n`);
    rewrite(middle.path, ([first, ...rest]) => [first, "garbage", ...rest]);
    rewrite(newer.path, (all) => [...all.slice(0, -1), all.at(-1)!.replace('"v":1', '"v":2')]);
    rewrite(gap.path, (all) => [...all.slice(0, 1), ...all.slice(2)]);
    Deno.removeSync(missing.path);
    Deno.renameSync(linked.path, home.dir.join("moved"));
    Deno.symlinkSync(home.dir.join("moved"), linked.path);
    Deno.removeSync(directory.path);
    Deno.mkdirSync(directory.path);
    const files = [middle, newer, gap, linked].map(({ path }) => Deno.readFileSync(path));

    for (let restart = 0; restart < 2; restart++) {
      const hub = await home.next();
      const reasons: [string, RegExp, string][] = [
        [middle.id, /^line 2 is not valid JSON$/, "conflict"],
        [newer.id, /^line \d+ has schema version 2, this svc reads 1$/, "schema_version"],
        [gap.id, /^line 2 has seq 3, expected 2$/, "conflict"],
        [
          missing.id,
          /^its journal is not at \/.*journal\.ndjson; it was removed there/,
          "conflict",
        ],
        [linked.id, /is a symbolic link|not a regular file/, "conflict"],
        [directory.id, /not a regular file/, "conflict"],
      ];
      const items = new Map((await hub.list(false)).map((item) => [item.id, item]));
      assertEquals(items.size, 7);
      for (const [id, reason, code] of reasons) {
        const item = items.get(id)!;
        assertEquals(item.state, "unreadable", `${restart} ${reason}`);
        assertMatch(item.reason!, reason);
        assertEquals(item.workdir, made.find((it) => it.id === id)!.workdir);
        const error = await assertRejects(() => hub.get(id), SvcError, item.reason!.split(";")[0]);
        assertEquals(error.code, code);
      }
      assertEquals(home.log.of("error"), reasons.map(() => "a session is unreadable"));
      assertEquals(items.get(well.id)!.state, "running");
      await (await hub.get(well.id)).send("still there");
      const found = [middle, newer, gap, linked].map(({ path }) => Deno.readFileSync(path));
      assertEquals(found, files, "their files are as they were");
    }
    // Mended, it is back.
    rewrite(middle.path, ([first, , ...rest]) => [first, ...rest]);
    assertEquals((await states(await home.next()))[middle.id], "running");
  },
});

Deno.test({
  name: "a lost or damaged index is rebuilt from the journals, which the log says",
  ignore,
  async fn() {
    const damages: [string, (home: Home, first: string) => void][] = [
      ["is missing", ({ index }) => Deno.removeSync(index)],
      ["is not valid JSON", ({ index }) => Deno.writeTextFileSync(index, "\0\0\0")],
      ["is not valid JSON", ({ index }) => Deno.writeTextFileSync(index, "")],
      ["is not a valid index", ({ index }) => Deno.writeTextFileSync(index, '{"a":1}')],
      ["is not a valid index", ({ index }) => Deno.writeTextFileSync(index, "[]")],
      // A link is lost too: its journal lies beside another one's.
      ["is missing", ({ index, links }, first) => {
        Deno.removeSync(index);
        Deno.removeSync(join(links, first));
      }],
    ];
    for (const [problem, damage] of damages) {
      await using home = new Home();
      const made = await home.filled(3);
      const hub = await home.next();
      // Two share a workdir.
      const { workdir } = made[0];
      const twin = await hub.create({ workdir, model: "m/m", approval: "auto", title: "twin" });
      await hub.kill(made[2].id);
      await home.forget();
      const before = Deno.readTextFileSync(home.index);
      damage(home, made[0].id);
      const again = await home.next();
      assertEquals(await states(again), {
        [made[0].id]: "running",
        [made[1].id]: "running",
        [made[2].id]: "ended",
        [twin.id]: "running",
      });
      assertEquals(again.item(await again.get(twin.id)).title, "twin");
      const [warning] = home.log.of("warn");
      assertStringIncludes(warning, problem);
      assertStringIncludes(warning, "rebuilt it from the journals");
      await home.forget();
      const index = JSON.parse(Deno.readTextFileSync(home.index));
      const places = (entries: Record<string, { journal_path: string; workdir: string }>) =>
        Object.entries(entries).map(([id, it]) => [id, it.workdir, it.journal_path]).sort();
      assertEquals(places(index), places(JSON.parse(before)));
    }
  },
});

Deno.test({
  name: "an index that cannot be written at the start keeps nobody from the sessions",
  ignore,
  async fn() {
    await using home = new Home();
    const [{ id }] = await home.filled(1);
    const dir = home.dir.join("missing");
    const hub = await home.next(join(dir, "index.json"));
    assertEquals(await states(hub), { [id]: "running" });
    assertEquals(home.log.of("error"), ["cannot write the sessions index"]);
    ensurePrivateDir(dir);
    await (await hub.get(id)).pause("operator");
    await home.forget();
    assertEquals(Object.keys(JSON.parse(Deno.readTextFileSync(join(dir, "index.json")))), [id]);
  },
});

Deno.test({
  name: "a damaged index is said even when nothing is found; a first start says nothing",
  ignore,
  async fn() {
    await using home = new Home();
    await home.next();
    assertEquals(home.log.lines, []);
    await home.forget();
    Deno.writeTextFileSync(home.index, "garbage");
    await home.next();
    assertStringIncludes(home.log.of("warn")[0] ?? "", "is not valid JSON");
  },
});

Deno.test({
  name: "a new session's files are private and out of version control; leftovers of a crash go",
  ignore,
  async fn() {
    await using home = new Home();
    const [{ path, workdir, id }] = await home.filled(1);
    const mode = (path: string) => Deno.lstatSync(path).mode! & 0o777;
    assertEquals(mode(path), 0o600);
    for (let dir = dirname(path); dir !== workdir; dir = dirname(dir)) {
      assertEquals(mode(dir), 0o700);
    }
    assertEquals(Deno.readTextFileSync(join(workdir, ".svc", ".gitignore")), "*\n");
    assertEquals(Deno.readLinkSync(join(home.links, id)), path);
    Deno.writeTextFileSync(`${home.index}.${crypto.randomUUID()}.tmp`, "{");
    Deno.writeTextFileSync(join(home.home, "mine.tmp"), "kept");
    await home.next();
    await home.forget();
    const names = [...Deno.readDirSync(home.home)].map((it) => it.name).sort();
    assertEquals(names, ["anchors", "journals", "mine.tmp", "sessions-index.json"]);
  },
});

Deno.test({
  name: "a session that is asked for while all are opened is opened once",
  ignore,
  async fn() {
    await using home = new Home();
    const made = await home.filled(40);
    const hub = await home.next();
    const all = hub.some(undefined);
    const { id } = made.at(-1)!;
    const session = await hub.get(id);
    const opened = await all;
    assertEquals(opened.length, made.length);
    assert(opened.find((it) => it.id === id) === session);
    assert(await hub.get(id) === session);
  },
});

Deno.test({
  name: "a session that is deleted while all are opened does not come back",
  ignore,
  async fn() {
    await using home = new Home();
    const made = await home.filled(160);
    const { id } = made.at(-1)!;
    const opened = Promise.withResolvers<void>();
    const log = new MemoryLog();
    const hub = newHub(home.home, { index_path: home.index, log, onDeleted: () => opened.promise });
    await hub.restore();
    const all = hub.some(undefined);
    const deleted = hub.delete(id);
    await all;
    opened.resolve();
    await deleted;
    const kept = made.slice(0, -1).map(({ id }) => id);
    assertEquals(Object.keys(await states(hub)), kept);
    assertEquals(log.of("error"), []);
    await hub.stop(0);
    assertEquals(Object.keys(await states(await home.next())), kept);
  },
});
