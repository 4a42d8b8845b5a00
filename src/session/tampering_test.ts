/** Journals that were changed while no daemon ran: the daemon does not trust them. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import {
  laterFileTime,
  MemoryLog,
  newHub,
  note,
  recordOf,
  TempDir,
} from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Hub } from "./hub.ts";
import { ulidIds } from "./ids.ts";

const ignore = !granted("read", "write") || Deno.build.os === "windows";

/** A home with one session, closed. */
class Home implements Disposable {
  readonly dir = new TempDir();
  readonly home = this.dir.join("home");
  readonly index = join(this.home, "sessions-index.json");
  readonly anchors = join(this.home, "anchors");
  readonly log = new MemoryLog();
  id = "";
  path = "";

  /** Calls a function with the hub of the next daemon, and stops it. */
  async with<T>(use: (hub: Hub) => Promise<T>): Promise<T> {
    const hub = newHub(this.home, { log: this.log });
    await hub.restore();
    try {
      return await use(hub);
    } finally {
      await hub.stop(0);
    }
  }

  /** A home whose session has a journal of about so many bytes. */
  static async filled(bytes: number): Promise<Home> {
    const home = new Home();
    await home.with(async (hub) => {
      const workdir = home.dir.mkdir("work");
      const session = await hub.create({ workdir, model: "m/m", approval: "ask" });
      home.id = session.id;
      home.path = session.journal.path;
      const text = "x".repeat(1000);
      while (session.journal.size < bytes) await note(session, text);
    });
    await laterFileTime();
    return home;
  }

  get text(): string {
    return Deno.readTextFileSync(this.path);
  }

  change(change: (text: string) => string): void {
    Deno.writeTextFileSync(this.path, change(this.text));
  }

  /** What the next daemon says of the session. */
  async refused(): Promise<string> {
    return await this.with(async (hub) => {
      const [item] = await hub.list(false);
      assertEquals(item.state, "unreadable");
      const error = await assertRejects(() => hub.get(this.id), SvcError);
      assertEquals(error.code, "conflict");
      return error.message;
    });
  }

  [Symbol.dispose](): void {
    this.dir[Symbol.dispose]();
  }
}

const allow = (text: string) => text.replace('"approval":"ask"', '"approval":"auto"');

Deno.test({
  name: "a journal whose approval was rewritten is refused; mended, it is back without a restart",
  ignore,
  async fn() {
    using home = await Home.filled(0);
    const before = home.text;
    home.change(allow);
    assertStringIncludes(await home.refused(), "do not match the anchor");
    // Without its anchor, the index has what the session may do.
    Deno.removeSync(join(home.anchors, `${home.id}.json`));
    assertStringIncludes(await home.refused(), 'says approval "auto", the sessions index "ask"');
    await home.with(async (hub) => {
      await assertRejects(() => hub.get(home.id), SvcError);
      home.change(() => before);
      assertEquals((await hub.get(home.id)).state.approval, "ask");
      assertEquals((await hub.list(false))[0].state, "running");
    });
  },
});

Deno.test({
  name: "a record that was added gives a session no rights; those that were asked for hold",
  ignore,
  async fn() {
    using home = await Home.filled(0);
    const configured = (seq: number) => {
      const data = { approval: "auto" as const, budget_usd: 9, by: "socket" };
      return recordOf({ seq, at: new Date().toISOString(), type: "session.configured", data });
    };
    const before = home.text;
    home.change((text) => text + configured(text.trimEnd().split("\n").length + 1));
    assertStringIncludes(await home.refused(), 'says approval "auto", the sessions index "ask"');
    home.change(() => before);
    await home.with(async (hub) => {
      const session = await hub.get(home.id);
      session.configuring.add({ approval: "auto", trust: "trusted", budget_usd: 9 });
      await hub.saveConfiguring(session);
    });
    await home.with(async (hub) => {
      const session = await hub.get(home.id);
      assertEquals(session.state.approval, "ask");
      session.configuring.add({ approval: "auto", trust: "trusted", budget_usd: 9 });
      await hub.saveConfiguring(session);
    });
    // As if the daemon had died right behind the record.
    home.change((text) => text + configured(text.trimEnd().split("\n").length + 1));
    await home.with(async (hub) => {
      const { approval, budget_usd } = (await hub.get(home.id)).state;
      assertEquals([approval, budget_usd], ["auto", 9]);
    });
  },
});

Deno.test({
  name: "of a long journal what was kept is believed: changed before it, it says nothing new",
  ignore,
  async fn() {
    using home = await Home.filled(300 * 1024);
    await home.with(async (hub) => void await hub.get(home.id));
    home.change(allow);
    await home.with(async (hub) => {
      // A byte more before it: it is read whole, and is not what was anchored.
      const error = await assertRejects(() => hub.get(home.id), SvcError);
      assertStringIncludes(error.message, "do not match the anchor");
    });
    home.change((text) => text.replace('"approval":"auto"', '"approval":"ask"'));
    const same = (text: string) => text.replace('"approval":"ask","', '"approval":"xxx","');
    home.change(same);
    await home.with(async (hub) => {
      assertEquals((await hub.get(home.id)).state.approval, "ask");
    });
  },
});

Deno.test({
  name: "records that were added make no rule, no second beginning, and take no approval away",
  ignore,
  async fn() {
    using home = await Home.filled(0);
    const at = new Date().toISOString();
    const next = () => home.text.trimEnd().split("\n").length + 1;
    const before = home.text;
    const asked = { approval_id: "a", lane_id: "main", call_id: "c", tool: "t", args: {} };
    home.change((text) =>
      text +
      recordOf({
        seq: next(),
        at,
        type: "approval.requested",
        data: { ...asked, reason: "r", rule: "everything" },
      })
    );
    home.change((text) =>
      text +
      recordOf({
        seq: next(),
        at,
        type: "approval.resolved",
        data: { approval_id: "a", decision: "allow_always", by: "socket" },
      })
    );
    await home.with(async (hub) => {
      assertEquals((await hub.get(home.id)).state.allowed, []);
    });
    assert(home.text.length > before.length);
    home.change((text) =>
      text + recordOf({
        seq: next(),
        at,
        type: "session.created",
        data: { workdir: "/", model: "m/m", title: "t", approval: "auto" },
      })
    );
    // The next line proves that it is no torn one.
    assertStringIncludes(await home.refused(), "session.created in the middle");
  },
});

Deno.test({
  name: "a journal that was cut behind its anchor is refused; a damaged anchor is replaced",
  ignore,
  async fn() {
    using home = await Home.filled(0);
    const before = home.text;
    home.change((text) => text.split("\n").slice(0, 2).join("\n") + "\n");
    assertStringIncludes(await home.refused(), "but its anchor is at seq");
    home.change(() => before);
    const anchor = join(home.anchors, `${home.id}.json`);
    Deno.writeTextFileSync(anchor, "garbage");
    await home.with(async (hub) => void await hub.get(home.id));
    assertEquals(typeof JSON.parse(Deno.readTextFileSync(anchor)).hash, "string");
  },
});

Deno.test({
  name: "an index that lost its sessions is completed from the links; one that ended stays ended",
  ignore,
  async fn() {
    using home = await Home.filled(0);
    Deno.writeTextFileSync(home.index, "{}");
    await home.with(async (hub) => {
      assertEquals((await hub.list(false)).map(({ id }) => id), [home.id]);
      assertEquals(await hub.size(), 1);
      await hub.kill(home.id);
    });
    Deno.removeSync(home.dir.join("work"), { recursive: true });
    await home.with(async (hub) => {
      assertEquals((await hub.list(true)).map(({ state }) => state), ["ended"]);
      const error = await assertRejects(() => hub.get(home.id), SvcError);
      assertEquals(error.code, "ended");
    });
  },
});

Deno.test({
  name: "a session that a daemon was killed while making does not come back without the index",
  ignore,
  async fn() {
    using home = await Home.filled(0);
    const sessions = join(home.path, "..", "..");
    const dir = join(sessions, ulidIds().next("sess"));
    Deno.mkdirSync(dir, { mode: 0o700 });
    const first = home.text.split("\n").slice(0, 2).join("\n") + "\n";
    Deno.writeTextFileSync(join(dir, "journal.ndjson"), first, { mode: 0o600 });
    Deno.removeSync(home.index);
    await home.with(async (hub) => {
      assertEquals((await hub.list(true)).map(({ id }) => id), [home.id]);
    });
  },
});

Deno.test({
  name: "what passes is tried again: a session is back once its journal can be opened",
  ignore: ignore || Deno.uid() !== 0,
  async fn() {
    using home = await Home.filled(0);
    Deno.chmodSync(home.path, 0o644);
    await home.with(async (hub) => {
      assertEquals((await hub.list(false))[0].state, "unreadable");
      Deno.chmodSync(home.path, 0o600);
      assertEquals((await hub.get(home.id)).state.state, "running");
      assertEquals((await hub.list(false))[0].state, "running");
    });
  },
});
