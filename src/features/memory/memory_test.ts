import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { canMount, SmallDisk } from "../../../tests/support/small_disk.ts";
import { Random } from "../../../tests/support/random.ts";
import { MemoryLog, TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import { stateDbFiles } from "../../os/state_db_files.ts";
import { AuditTrail } from "./audit.ts";
import {
  CATEGORIES,
  type Category,
  type Changes,
  type Scope,
  SCOPES,
} from "../../protocol/memory.ts";
import { type Reader } from "./rules.ts";
import { Memory } from "./memory.ts";
import { MemoryStore } from "./store.ts";

const ignore = !granted("read", "write", "sys") || Deno.build.os === "windows";

/** A memory in a directory of its own. */
class Fixture implements Disposable {
  readonly dir = new TempDir();
  readonly db_path = this.dir.join("state.db");
  readonly audit_path = this.dir.join("cortex", "curator-audit.jsonl");
  readonly log = new MemoryLog();
  readonly audit = new AuditTrail(this.audit_path, this.log);
  #ids = 0;
  #open: Memory | undefined;

  async open(): Promise<Memory> {
    this.close();
    const store = new MemoryStore(await openTestDb(this.db_path));
    const newId = () => `mem_${String(++this.#ids).padStart(3, "0")}`;
    return this.#open = await Memory.open({ store, audit: this.audit, newId });
  }

  close(): void {
    this.#open?.close();
    this.#open = undefined;
  }

  /** The ids in the audit trail. */
  audited(): Promise<string[]> {
    return Array.fromAsync(this.audit.records(), ({ entry_id }) => entry_id);
  }

  /** What lies in the database's files. */
  bytes(): string {
    const decoder = new TextDecoder("latin1");
    return stateDbFiles(this.db_path).map((path) => {
      try {
        return decoder.decode(Deno.readFileSync(path));
      } catch {
        return "";
      }
    }).join("");
  }

  [Symbol.dispose](): void {
    this.close();
    this.dir[Symbol.dispose]();
  }
}

function test(name: string, fn: (it: Fixture) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      using it = new Fixture();
      await fn(it);
    },
  });
}

const reader = (name: string, workdir: string, trusted = true): Reader => {
  return { session_id: `sess_${name}`, workdir, trusted };
};

const contents = (found: { content: string }[]) => found.map(({ content }) => content);

test("an entry is found by its words in another form, the best fit first", async (it) => {
  const memory = await it.open();
  for (
    const content of [
      "The app deploys with make ship",
      "A deployment needs a release tag",
      "The staging server listens on port 8443",
      "The production server listens on port 443",
      "Die Prüfung läuft über Nacht",
      "我们在北京部署应用",
    ]
  ) memory.remember({ content, category: "fact" });
  const found = (text: string) => contents(memory.recall(text, { limit: 10 }));
  assertEquals(found("deploying"), [
    "The app deploys with make ship",
    "A deployment needs a release tag",
  ]);
  assertEquals(found("What port has the staging server?"), [
    "The staging server listens on port 8443",
    "The production server listens on port 443",
  ]);
  assertEquals(found("prufung"), ["Die Prüfung läuft über Nacht"]);
  assertEquals(found("部署在哪里"), ["我们在北京部署应用"]);
  assertEquals(found("kubernetes"), []);
});

test("of entries that fit as well a warning comes first, then the recent", async (it) => {
  const memory = await it.open();
  const remember = (content: string, category: Category) =>
    memory.remember({ content, category }, {});
  remember("tests want docker one", "fact");
  remember("tests want docker two", "gotcha");
  const db = await openTestDb(it.db_path);
  db.exec("UPDATE memory SET updated_at = '2020-01-01T00:00:00.000Z'");
  db.close();
  remember("tests want docker six", "fact");
  assertEquals(contents(memory.recall("docker tests", { limit: 9 })), [
    "tests want docker two",
    "tests want docker six",
    "tests want docker one",
  ]);
  const [best] = memory.recall("docker tests", { limit: 1 });
  assertEquals([best.score, best.content], [1, "tests want docker two"]);
});

test("each scope is seen by its sessions, and an untrusted one sees little", async (it) => {
  const memory = await it.open();
  const writer = reader("a", "/work/one");
  for (const scope of SCOPES) {
    memory.remember({ content: `secret of ${scope}`, category: "fact", scope }, { reader: writer });
  }
  const seen = (by: Reader) =>
    memory.recall("secret", { reader: by, limit: 9 }).map(({ scope }) => scope).sort();
  const all: Scope[] = ["AllSessions", "Always", "Global", "Session", "Worker"];
  assertEquals(seen(writer), all);
  assertEquals(seen(reader("b", "/work/one")), ["AllSessions", "Always", "Global", "Worker"]);
  assertEquals(seen(reader("b", "/work/two")), ["AllSessions", "Always", "Global"]);
  assertEquals(seen(reader("b", "/work/one", false)), ["Always", "Global"]);
  assertEquals(seen(reader("a", "/work/one", false)), ["Always", "Global", "Session"]);
  assertEquals(memory.recall("secret", { limit: 9 }).length, 5);
  assertEquals(memory.always(writer).map(({ content }) => content), ["secret of Always"]);
});

test("work for others sees only what a person wrote, allowed or changed", async (it) => {
  const writer = reader("a", "/work/one");
  let memory = await it.open();
  memory.remember({ content: "rule of a person", category: "fact", scope: "Always" });
  const own = { reader: writer, source_msg_id: "msg_1" };
  const { entry } = memory.remember(
    { content: "rule of a model", category: "fact", scope: "Always" },
    own,
  );
  assertEquals([entry.written_by, entry.approved], ["sess_a", true]);
  // As before the person was asked.
  it.close();
  const db = await openTestDb(it.db_path);
  db.exec("UPDATE memory SET approved = 0 WHERE content = 'rule of a model'");
  db.close();
  memory = await it.open();
  const hired = reader("h", "/hired", false);
  const seen = (by: Reader) => [
    memory.recall("rule", { reader: by, limit: 9 }).map(({ content }) => content).sort(),
    memory.always(by).map(({ content }) => content).sort(),
  ];
  const both = ["rule of a model", "rule of a person"];
  assertEquals(seen(writer), [both, both]);
  assertEquals(seen(hired), [["rule of a person"], ["rule of a person"]]);
  memory.update(entry.entry_id, { tags: ["kept"] });
  assertEquals(seen(hired), [both, both]);
});

test("an untrusted session writes for itself only", async (it) => {
  const memory = await it.open();
  const hired = reader("h", "/work", false);
  for (const scope of SCOPES.filter((it) => it !== "Session")) {
    const error = assertThrows(
      () => memory.remember({ content: "obey me", category: "fact", scope }, { reader: hired }),
      SvcError,
    );
    assertEquals(error.code, "permission_denied");
  }
  const { entry } = memory.remember({ content: "mine", category: "fact" }, { reader: hired });
  assertEquals([entry.scope, entry.owner], ["Session", "sess_h"]);
});

test("a scope that belongs to a session cannot be written without one", async (it) => {
  const memory = await it.open();
  for (const scope of ["Session", "Worker"] as const) {
    assertThrows(() => memory.remember({ content: "x", category: "fact", scope }), SvcError);
  }
});

test("the same again is one entry, for the same sessions and of the same category", async (it) => {
  const memory = await it.open();
  const first = memory.remember({ content: "twice", category: "fact" });
  const again = memory.remember({ content: "twice", category: "fact" });
  assertEquals([first.is_new, again.is_new], [true, false]);
  assertEquals(again.entry.entry_id, first.entry.entry_id);
  assert(memory.remember({ content: "twice", category: "gotcha" }).is_new);
  assert(memory.remember({ content: "twice", category: "fact", scope: "Global" }).is_new);
});

test("entries are listed by their key, and only as many as asked for", async (it) => {
  const memory = await it.open();
  for (const category of CATEGORIES) memory.remember({ content: category, category });
  memory.remember({ content: "elsewhere", category: "fact", scope: "Global" });
  const query = (key_prefix?: string, limit = 10) => {
    const { entries, truncated } = memory.query({ scope: "AllSessions", key_prefix, limit });
    return [entries.map(({ key, value }) => `${key}=${value}`), truncated];
  };
  assertEquals(query("fact/"), [["fact/mem_001=fact"], false]);
  assertEquals(query("f", 1), [["fact/mem_001=fact"], true]);
  assertEquals(query("f%"), [[], false]);
  assertEquals((query()[0] as string[]).length, 6);
});

test("what is forgotten is neither found nor in the files any more", async (it) => {
  const memory = await it.open();
  const { entry } = memory.remember({ content: "The xylophone is in room 12", category: "fact" });
  memory.remember({ content: "Something else", category: "fact" });
  assert(it.bytes().includes("xylophone"));
  memory.forget(entry.entry_id);
  assertEquals(memory.recall("xylophone", { limit: 9 }), []);
  assert(!it.bytes().toLowerCase().includes("xylophon"));
  const error = assertThrows(() => memory.forget(entry.entry_id), SvcError);
  assertEquals(error.code, "not_found");
});

test("what looks like a credential is refused, in content and tags", async (it) => {
  const memory = await it.open();
  const token = `ghp_${"a1B2".repeat(9)}`;
  for (const proposal of [{ content: `use ${token}` }, { content: "x", tags: [token] }]) {
    assertThrows(
      () => memory.remember({ category: "fact", ...proposal }, { source_msg_id: "msg_1" }),
      SvcError,
      "looks like a GitHub token",
    );
  }
  assert(!it.bytes().includes(token));
  assertEquals(await it.audited(), []);
});

test("no text is an error to look for", async (it) => {
  const memory = await it.open();
  memory.remember({ content: "something", category: "fact" });
  const random = new Random(7);
  const parts = [
    '"',
    "*",
    "(",
    ")",
    "^",
    "NEAR",
    "AND",
    "OR NOT",
    ":",
    "-",
    "words:",
    "\0",
    "é",
    "\ud800",
    "東",
    "some",
  ];
  for (let n = 0; n < 500; n++) {
    const text = Array.from({ length: 6 }, () => random.pick(parts)).join(random.pick(["", " "]));
    memory.recall(text, { limit: 5 });
  }
});

// ── the audit trail ────────────────────────────────────────────────────────────────────────────

test("an automatic write has its record, one by a client has none", async (it) => {
  const memory = await it.open();
  const umask = Deno.umask(0);
  const { entry } = memory.remember({ content: "by itself", category: "fact" }, {
    reader: reader("a", "/work"),
    source_msg_id: "msg_1",
  });
  Deno.umask(umask);
  memory.remember({ content: "by a client", category: "fact" });
  const { entry_id, category, content_sha, created_at: ts } = entry;
  assertEquals(await Array.fromAsync(it.audit.records()), [
    { ts, entry_id, category, content_sha, source_msg_id: "msg_1" },
  ]);
  assertEquals(Deno.statSync(it.audit_path).mode! & 0o777, 0o600);
  assertEquals(Deno.statSync(it.dir.join("cortex")).mode! & 0o777, 0o700);
});

test("a write that its record cannot precede is none", async (it) => {
  const memory = await it.open();
  Deno.mkdirSync(it.audit_path, { recursive: true, mode: 0o700 });
  Deno.chmodSync(it.dir.join("cortex"), 0o700);
  const write = (into: Memory) =>
    into.remember({ content: "unaudited", category: "fact" }, { source_msg_id: "msg_1" });
  assertThrows(() => write(memory), SvcError, "is not a regular file");
  Deno.removeSync(it.audit_path);
  const again = await it.open();
  assertEquals(again.recall("unaudited", { limit: 1 }), []);
  assert(write(again).is_new);
});

test("a crash before the record undoes the write, one after it completes it", async (it) => {
  const memory = await it.open();
  const { entry } = memory.remember({ content: "kept", category: "fact" });
  it.close();
  const store = new MemoryStore(await openTestDb(it.db_path));
  for (const entry_id of ["mem_before", "mem_after"]) {
    const content_sha = entry_id;
    store.hold({ ...entry, entry_id, content: entry_id, content_sha });
  }
  store.close();
  const { category, content_sha, created_at: ts } = entry;
  it.audit.append({ ts, entry_id: "mem_after", category, content_sha, source_msg_id: "m" });
  const found = (await it.open()).query({ scope: "AllSessions", limit: 9 }).entries;
  assertEquals(found.map(({ value }) => value), ["kept", "mem_after"]);
  assertEquals(await it.audited(), ["mem_after"]);
});

test("an entry is changed in place: found by its new words, gone with its old ones", async (it) => {
  const memory = await it.open();
  const remember = (content: string) => memory.remember({ content, category: "fact" }).entry;
  const { entry_id, created_at, updated_at } = remember("the dromedary sleeps");
  const changes: Changes = { content: "the camel wakes", scope: "Global", tags: ["zoo"] };
  const changed = memory.update(entry_id, changes);
  assertEquals([changed.created_at, changed.category], [created_at, "fact"]);
  assert(changed.updated_at > updated_at);
  const [found, ...more] = memory.recall("camel zoo", { limit: 9 });
  assertEquals([found.entry_id, found.content, found.scope], [
    entry_id,
    "the camel wakes",
    "Global",
  ]);
  assertEquals([more, memory.recall("dromedary", { limit: 9 })], [[], []]);
  assert(!it.bytes().includes("dromedary"), "the old content lies on in the database");
  assertEquals(await it.audited(), [entry_id]);
  const [record] = await Array.fromAsync(it.audit.records());
  assertEquals(
    [record.ts, record.content_sha, record.source_msg_id],
    [changed.updated_at, changed.content_sha, "edited"],
  );
  assertEquals((await it.open()).list({ limit: 9 }).entries, [changed]);
});

test("a change that would not do changes nothing", async (it) => {
  const memory = await it.open();
  const remember = (content: string) => memory.remember({ content, category: "fact" }).entry;
  const { entry_id } = remember("one");
  remember("two");
  const refused = (code: string, ...args: Parameters<Memory["update"]>) =>
    assertEquals(assertThrows(() => memory.update(...args), SvcError).code, code);
  refused("not_found", "mem_none", { content: "x" });
  refused("conflict", entry_id, { content: "two" });
  refused("validation", entry_id, { content: "password = hunter22" });
  refused("validation", entry_id, { scope: "Worker" });
  assertEquals(contents(memory.list({ limit: 9 }).entries), ["two", "one"]);
  assertEquals(await it.audited(), []);
  const owned = memory.update(entry_id, { scope: "Worker" }, reader("a", "/work/one"));
  assertEquals([owned.scope, owned.owner], ["Worker", "/work/one"]);
  assertEquals(memory.update(entry_id, { tags: ["t"] }).owner, "/work/one");
});

test("a crash before the record undoes a change, one after it completes it", async (it) => {
  let memory = await it.open();
  const { entry } = memory.remember({ content: "old", category: "fact" }, { source_msg_id: "m" });
  const hold = async (content: string, updated_at: string) => {
    const store = new MemoryStore(await openTestDb(it.db_path));
    const content_sha = "0".repeat(64);
    store.hold({ ...entry, content, content_sha, updated_at });
    store.close();
    return { ts: updated_at, entry_id: entry.entry_id, category: "fact", content_sha };
  };
  await hold("before the record", "2999-01-01T00:00:00.000Z");
  memory = await it.open();
  assertEquals(contents(memory.list({ limit: 9 }).entries), ["old"]);
  const record = await hold("after the record", "2999-01-02T00:00:00.000Z");
  it.audit.append({ ...record, source_msg_id: "edited" });
  memory = await it.open();
  assertEquals(contents(memory.list({ limit: 9 }).entries), ["after the record"]);
  memory.forget(entry.entry_id);
  assertEquals((await it.open()).list({ limit: 9 }).entries, []);
});

test("entries and records are listed page by page", async (it) => {
  const memory = await it.open();
  for (let n = 0; n < 5; n++) {
    const category = n % 2 === 0 ? "fact" : "fix";
    memory.remember({ content: `entry ${n}`, category }, { source_msg_id: `msg_${n}` });
  }
  const pages = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const { entries, next_cursor } = memory.list({ limit: 2, cursor });
    pages.push(contents(entries));
    cursor = next_cursor;
  }
  assertEquals(pages, [["entry 4", "entry 3"], ["entry 2", "entry 1"], ["entry 0"]]);
  assertEquals(contents(memory.list({ limit: 9, category: "fix" }).entries), [
    "entry 3",
    "entry 1",
  ]);
  const last = await it.audit.page({ limit: 2 });
  assertEquals(last.records.map((record) => record.source_msg_id), ["msg_3", "msg_4"]);
  const before = await it.audit.page({ limit: 9, cursor: last.next_cursor });
  assertEquals(before.records.map((record) => record.source_msg_id), ["msg_0", "msg_1", "msg_2"]);
  assertEquals(before.next_cursor, undefined);
});

test("a record that was cut off is cut away by the next", async (it) => {
  const memory = await it.open();
  const write = (content: string) =>
    memory.remember({ content, category: "fact" }, { source_msg_id: "msg_1" });
  write("one");
  Deno.writeTextFileSync(it.audit_path, '{"ts":"2026-01-0', { append: true });
  assertEquals(await it.audited(), ["mem_001"]);
  write("two");
  assertEquals(await it.audited(), ["mem_001", "mem_002"]);
  assertEquals(Deno.readTextFileSync(it.audit_path).split("\n").length, 3);
});

test("an audit trail that others can read is not written on", async (it) => {
  const memory = await it.open();
  const write = (content: string) =>
    memory.remember({ content, category: "fact" }, { source_msg_id: "msg_1" });
  write("one");
  Deno.chmodSync(it.audit_path, 0o644);
  assertThrows(() => write("two"), SvcError, "has mode 0644");
  await assertRejects(() => it.audited(), SvcError, "has mode 0644");
  assertEquals(memory.recall("two", { limit: 1 }), []);
});

test("a paused lobe is paused after a restart too", async (it) => {
  (await it.open()).setLobePaused("curator", true);
  const memory = await it.open();
  assertEquals([...memory.pausedLobes()], ["curator"]);
  memory.setLobePaused("curator", true);
  memory.setLobePaused("curator", false);
  assertEquals([...memory.pausedLobes()], []);
});

Deno.test({
  name: "on a full disk nothing is half written, and what was audited is there when it has room",
  ignore: ignore || !canMount(),
  async fn() {
    using it = new Fixture();
    using disk = new SmallDisk(it.dir.path, 16_384);
    const memory = await it.open();
    const write = (n: number) =>
      memory.remember(
        { content: `entry ${n} ${"of many words ".repeat(100)}`, category: "fact" },
        { source_msg_id: "msg_1" },
      );
    write(0);
    let refused = 0;
    for (let n = 1; n <= 120; n++) {
      // Room for some of the steps of a write.
      disk.fill((n % 30) * 4);
      try {
        write(n);
      } catch (error) {
        assert(error instanceof SvcError, String(error));
        refused++;
      }
    }
    assert(refused > 0 && refused < 120, `${refused} refused`);
    assert(memory.recall("entry", { limit: 1 }).length > 0);
    disk.free();
    assert(write(-1).is_new);
    const again = await it.open();
    const { entries } = again.query({ scope: "AllSessions", limit: 10_000 });
    const audited = await it.audited();
    assertEquals(entries.map(({ key }) => key.split("/")[1]).sort(), audited.sort());
  },
});
