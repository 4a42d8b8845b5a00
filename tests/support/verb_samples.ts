/**
 * Valid parameters for every verb, for the test that asks each over MCP and JSON-RPC. A new verb gets
 * a line here; that test fails for one that has none.
 */
import { delay } from "@std/async";
import { tinyPng } from "./media.ts";
import { Repository } from "./repository.ts";
import type { Place, PlainRpc } from "./svc.ts";

// deno-lint-ignore no-explicit-any -- as a client would send them
type Json = any;

/** What parameters are made from: a running daemon with room for sessions. */
export class World implements Disposable {
  readonly rpc: PlainRpc;
  readonly #place: Place;
  #count = 0;
  #repositories: Repository[] = [];

  constructor(place: Place, rpc: PlainRpc) {
    this.#place = place;
    this.rpc = rpc;
  }

  /** A new directory. */
  workdir(): string {
    return this.#place.mkdir(`work-${++this.#count}`);
  }

  /** A new repository with one commit, and a worktree if it is to have one. */
  async repository(worktree?: string): Promise<string> {
    const repository = new Repository();
    this.#repositories.push(repository);
    const { root: workdir } = repository;
    if (worktree !== undefined) await this.rpc.call("worktree.create", { workdir, name: worktree });
    return workdir;
  }

  /** A directory whose own files say how it is built, tested and linted. */
  project(): string {
    const workdir = this.workdir();
    const targets = ["build", "test", "lint"].map((name) => `${name}:\n\t@echo done\n`);
    Deno.writeTextFileSync(`${workdir}/Makefile`, targets.join("\n"));
    return workdir;
  }

  /** The id of a new session. */
  async session(params: Json = {}): Promise<string> {
    const { session_id } = await this.rpc.call("session.start", {
      workdir: this.workdir(),
      model: "builtin/toolbelt",
      ...params,
    });
    return session_id;
  }

  /** Parameters that add a tool server to policy.yaml as it is now; it is turned off. */
  async newServer() {
    const { revision } = await this.rpc.call("mcp.get_policy");
    const name = `server-${++this.#count}`;
    return {
      revision,
      server: { name, transport: "stdio", command: "true", enabled: false },
    };
  }

  /** A session with an image. */
  async attachment(): Promise<{ session_id: string; hash: string }> {
    const session_id = await this.session();
    const attachments = [{ data: tinyPng().toBase64() }];
    await this.rpc.call("session.send", { session_id, text: "help", attachments });
    const { messages } = await this.rpc.call("session.transcript", { session_id });
    return { session_id, hash: messages[0].attachments[0].hash };
  }

  /** The id of a session whose first message was answered. */
  async answered(): Promise<string> {
    const session_id = await this.session({ prompt: "help" });
    await this.#until(async () => {
      const { activity, messages_count } = await this.rpc.call("session.get", { session_id });
      return activity === "idle" && messages_count === 2 ? true : undefined;
    });
    return session_id;
  }

  /** A session with an approval that waits. */
  async waiting(): Promise<{ session_id: string; approval_id: string }> {
    const session_id = await this.session({ approval: "ask", prompt: "run echo hi" });
    const approval_id = await this.#until(async () => {
      const { pending_approvals } = await this.rpc.call("session.get", { session_id });
      return pending_approvals[0]?.approval_id;
    });
    return { session_id, approval_id };
  }

  /** A task of the queue that does not begin: the queue is paused. */
  async queued(): Promise<string> {
    await this.rpc.call("queue.pause");
    return (await this.rpc.call("queue.enqueue", this.task())).id;
  }

  task(): Json {
    return { task_type: "code", description: "help", extra: { workdir: this.workdir() } };
  }

  /** A mission that has one task. */
  async mission(): Promise<string> {
    return (await this.rpc.call("mission.create", this.spec())).mission_id;
  }

  /** What a new mission is made of. */
  spec(): Json {
    return { workdir: this.workdir(), spec: SPEC, model: "builtin/toolbelt" };
  }

  /** The hash of a record. */
  async hash(): Promise<string> {
    const session_id = await this.session();
    return (await this.rpc.call("ledger.list_events", { session_id })).events[0].hash;
  }

  /** An entry of the memory. */
  async entry(): Promise<string> {
    const content = `The port of service ${++this.#count} is ${8000 + this.#count}.`;
    return (await this.rpc.call("cortex.remember", { content, category: "fact" })).entry_id;
  }

  /** A permission rule that is kept. */
  async rule(): Promise<string> {
    const rule = { action: "deny", rule: "run_command: git push *", scope: "everywhere" };
    return (await this.rpc.call("permissions.add", rule)).rule_id;
  }

  async #until<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < 1_000; tries++) {
      const found = await look();
      if (found !== undefined) return found;
      await delay(20);
    }
    throw new Error("what was waited for did not come");
  }

  [Symbol.dispose](): void {
    for (const repository of this.#repositories) repository[Symbol.dispose]();
  }
}

const SPEC = {
  id: "sample",
  name: "Sample",
  sessions: [{
    id: "s1",
    title: "One",
    tasks: [{ id: "t1", description: "help" }],
    acceptance_criteria: [{ id: "c1", description: "holds", command: "true" }],
  }],
};

export interface VerbSample {
  /** Parameters that the verb takes, made anew for each call; `over` is how it is called. */
  params?(world: World, over: "mcp" | "rpc"): Json | Promise<Json>;
  /** What it answers to them where more than a daemon is needed to succeed. */
  fails_with?: string;
  /** It is refused where a model may ask. */
  person_only?: true;
  /** Ends the daemon. */
  ends_daemon?: true;
}

const of_session: VerbSample = { params: async (it) => ({ session_id: await it.session() }) };
const of_mission: VerbSample = { params: async (it) => ({ mission_id: await it.mission() }) };
const of_task: VerbSample = { params: async (it) => ({ task_id: await it.queued() }) };
const of_project: VerbSample = { params: (it) => ({ workdir: it.project() }) };
const none: VerbSample = {};

/** Samples by the verb's name. */
export const SAMPLES: Readonly<Record<string, VerbSample>> = {
  "permissions.add": {
    params: (it) => ({
      action: "ask",
      rule: "run_command: npm publish *",
      scope: "directory",
      directory: it.workdir(),
    }),
  },
  "permissions.list": none,
  "permissions.remove": { params: async (it) => ({ rule_id: await it.rule() }) },
  "permissions.trust": {
    params: (it) => ({ directory: it.workdir() }),
    fails_with: "not_found",
  },
  "permissions.untrust": {
    params: (it) => ({ directory: it.workdir() }),
    fails_with: "not_found",
  },
  "permissions.test": { params: (it) => ({ command: "npm test", directory: it.workdir() }) },
  "session.start": { params: (it) => ({ workdir: it.workdir(), model: "builtin/toolbelt" }) },
  "session.list": { params: () => ({ include_ended: true }) },
  "session.get": of_session,
  "session.configure": {
    params: async (it) => ({ session_id: await it.session(), title: "renamed" }),
  },
  "session.send": { params: async (it) => ({ session_id: await it.session(), text: "help" }) },
  "session.withdraw": of_session,
  "session.redeliver": {
    params: async (it) => ({
      session_id: await it.session(),
      message_id: "msg_none",
      delivery: "steer",
    }),
  },
  "session.attachment": { params: (it) => it.attachment() },
  "session.cancel": of_session,
  "session.compact": of_session,
  "session.pause": of_session,
  "session.continue": {
    async params(it) {
      const { session_id } = await it.waiting();
      await it.rpc.call("session.pause", { session_id });
      await it.rpc.call("session.resume", { session_id });
      return { session_id };
    },
  },
  "session.resume": {
    async params(it) {
      const session_id = await it.session();
      await it.rpc.call("session.pause", { session_id });
      return { session_id };
    },
  },
  "session.changes": of_session,
  "session.changed_file": {
    params: async (it) => ({ session_id: await it.session(), path: "none" }),
  },
  "files.list": of_session,
  "files.read": {
    params: async (it) => ({
      session_id: await it.session({ workdir: it.project() }),
      path: "Makefile",
    }),
  },
  "files.find": { params: async (it) => ({ session_id: await it.session(), query: "make" }) },
  "session.rewind": {
    params: async (it) => ({ session_id: await it.answered(), what: "conversation" }),
  },
  "session.undo_file": {
    params: async (it) => ({ session_id: await it.answered(), path: "none" }),
    fails_with: "not_found",
  },
  "session.fork": of_session,
  "session.kill": of_session,
  "session.delete": of_session,
  "session.move": {
    params: async (it) => ({ session_id: await it.session(), workdir: it.workdir() }),
  },
  "session.export": of_session,
  "session.import": {
    params: (it) => ({ path: "/etc/hostname", workdir: it.workdir() }),
    fails_with: "validation",
  },
  "session.search": { params: () => ({ query: "help" }) },
  "session.approve": { params: async (it) => ({ ...await it.waiting(), decision: "deny" }) },
  "draft.get": of_session,
  "draft.set": {
    params: async (it) => ({ session_id: await it.session(), text: "half a thought" }),
  },
  "draft.follow": of_session,
  "approvals.files": { params: (it) => it.waiting() },
  "session.answer": {
    params: async (it) => ({ ...await it.waiting(), text: "yes" }),
    // The embedded model asks nothing.
    fails_with: "validation",
  },
  "session.transcript": of_session,
  "session.history": of_session,
  "session.journal": of_session,
  "session.subscribe": of_session,
  // Only the connection that made a subscription can end it.
  "session.unsubscribe": { params: () => ({ sub: 9_999 }), fails_with: "not_found" },
  "background.list": of_session,
  "background.output": {
    params: async (it) => ({ session_id: await it.session(), command_id: "cmd_none" }),
    fails_with: "not_found",
  },
  "background.stop": {
    params: async (it) => ({ session_id: await it.session(), command_id: "cmd_none" }),
    fails_with: "not_found",
  },
  "commands.list": of_session,
  "commands.expand": {
    params: async (it) => ({ session_id: await it.session(), text: "/etc/hosts" }),
  },
  "skills.list": of_session,
  "lanes.list": of_session,
  "lanes.get": { params: async (it) => ({ session_id: await it.session(), lane_id: "main" }) },
  "lanes.subscribe": of_session,
  "lanes.kill": {
    params: async (it) => ({ session_id: await it.session(), lane_id: "main" }),
    fails_with: "conflict",
  },
  "lanes.pin": {
    params: async (it) => ({ session_id: await it.session(), lane_id: "main", pinned: true }),
  },
  "approvals.list": { params: () => ({}) },
  "ledger.export": of_session,
  "ledger.key": { params: () => ({}) },
  "ledger.get_node": { params: async (it) => ({ hash: await it.hash() }) },
  "ledger.list_events": of_session,
  "ledger.verify": of_session,
  "memory.list_scopes": none,
  "memory.query": { params: () => ({ scope: "Global" }) },
  "cortex.remember": {
    params: () => ({ content: "The team writes its dates as RFC 3339.", category: "fact" }),
  },
  "cortex.update": { params: async (it) => ({ entry_id: await it.entry(), scope: "Global" }) },
  "cortex.list": none,
  "cortex.recall": { params: () => ({ query: "dates" }) },
  "cortex.forget": { params: async (it) => ({ entry_id: await it.entry() }) },
  "cortex.audit": none,
  "cortex.publish": {
    params: async (it) => ({ session_id: await it.session(), note: { text: "look here" } }),
  },
  "cortex.notes": of_session,
  "cortex.lobes_list": none,
  "cortex.lobe_pause": { params: () => ({ lobe: "curator" }) },
  "cortex.lobe_resume": { params: () => ({ lobe: "curator" }) },
  "cost.get_current": none,
  "cost.breakdown": { params: () => ({ by: "model" }) },
  "cost.get_history": { params: () => ({ bucket: "minute" }) },
  "descent.current_tier": of_session,
  "descent.tier_history": {
    params: async (it) => ({ session_id: await it.session(), ac_id: "c1" }),
  },
  "mission.create": { params: (it) => it.spec() },
  "mission.read_spec": { params: () => ({ spec: JSON.stringify(SPEC) }) },
  "mission.list": none,
  "mission.get": of_mission,
  "mission.cancel": of_mission,
  "mission.logs": of_mission,
  svc_build_from_sow: {
    params: (it) => ({ repo_root: it.workdir(), sow: JSON.stringify(SPEC) }),
  },
  svc_get_mission_status: of_mission,
  svc_get_mission_logs: of_mission,
  svc_cancel_mission: of_mission,
  svc_list_missions: none,
  "queue.enqueue": { params: (it) => it.task() },
  "queue.status": none,
  "queue.workers": { params: () => ({ count: 1 }) },
  "queue.pause": none,
  "queue.resume": none,
  "queue.tasks": none,
  "queue.cancel": of_task,
  "queue.wal": { params: () => ({ n: 10 }) },
  "task.run": { params: (it) => it.task() },
  "task.get": of_task,
  "task.list": none,
  "task.cancel": of_task,
  "task.follow": of_task,
  "task.artifact": {
    params: async (it) => ({ task_id: await it.queued(), name: "none.txt" }),
    fails_with: "not_found",
  },
  "task.options": none,
  "task.capabilities": none,
  "repository.changes": {
    params: async (it) => ({ session_id: await it.session({ workdir: await it.repository() }) }),
  },
  "repository.changed_file": {
    params: async (it) => ({
      session_id: await it.session({ workdir: await it.repository() }),
      path: "none",
    }),
  },
  "repository.commit": {
    params: async (it) => ({
      session_id: await it.session({ workdir: await it.repository() }),
      message: "Nothing to commit",
    }),
    person_only: true,
  },
  "worktree.list": { params: async (it) => ({ workdir: await it.repository("one") }) },
  "worktree.create": { params: async (it) => ({ workdir: await it.repository(), name: "one" }) },
  "worktree.diff": {
    params: async (it) => ({ workdir: await it.repository("one"), name: "one" }),
  },
  "worktree.merge": {
    params: async (it) => ({ workdir: await it.repository("one"), name: "one" }),
  },
  "worktree.clean": {
    params: async (it) => ({ workdir: await it.repository("one"), name: "one" }),
  },
  "verify.build": of_project,
  "verify.test": of_project,
  "verify.lint": of_project,
  "mcp.list_servers": none,
  "mcp.list_tools": none,
  "mcp.test_server": { params: () => ({ name: "none" }), fails_with: "not_found" },
  "mcp.approve_project": {
    params: async (it) => ({ session_id: await it.session(), sha256: "0".repeat(64) }),
    fails_with: "not_found",
    person_only: true,
  },
  "mcp.get_policy": { person_only: true },
  "mcp.save_server": { params: (it) => it.newServer(), person_only: true },
  "mcp.remove_server": {
    params: async (it) => ({ revision: (await it.newServer()).revision, name: "none" }),
    fails_with: "not_found",
    person_only: true,
  },
  "mcp.login": {
    params: () => ({ name: "none" }),
    person_only: true,
    fails_with: "not_found",
  },
  "mcp.login_result": {
    params: () => ({ name: "none" }),
    person_only: true,
    fails_with: "not_found",
  },
  "mcp.logout": { params: () => ({ name: "none" }), person_only: true },
  "mcp.call_tool": { params: () => ({ server: "none", tool: "x" }), fails_with: "not_found" },
  "tui.press_key": { params: async (it) => ({ session_id: await it.session(), key: "tab" }) },
  "tui.snapshot": of_session,
  "tui.get_model": of_session,
  "tui.focus_lane": {
    params: async (it) => ({ session_id: await it.session(), lane_id: "main" }),
  },
  "tui.attach": of_session,
  "tui.answer": { params: () => ({ request_id: "none", result: {} }), fails_with: "not_found" },
  "bus.tail": none,
  "bus.replay": { params: () => ({ from_seq: 1, to_seq: 10 }) },
  "hooks.list": of_session,
  "models.list": none,
  "models.providers": none,
  "models.save_key": {
    // It has no default model, so that the other samples keep theirs.
    params: () => ({ provider: "together", key: "sk-sample", test: false }),
    person_only: true,
  },
  "models.login": {
    params: () => ({ provider: "openrouter" }),
    person_only: true,
  },
  "models.login_result": {
    params: () => ({ provider: "together" }),
    fails_with: "not_found",
    person_only: true,
  },
  "service.status": none,
  "service.install": { fails_with: "not_found" },
  "service.uninstall": none,
  "daemon.health": none,
  "daemon.discover": none,
  "daemon.info": none,
  "daemon.get_config": none,
  "daemon.set_config": { params: () => ({ changes: { "agent.max_steps": 60 } }) },
  "daemon.check_cache": {
    params: () => ({ model: "builtin/toolbelt" }),
    fails_with: "validation",
  },
  "daemon.list_dirs": none,
  "daemon.verbs": none,
  "daemon.reload_config": none,
  "daemon.shutdown": { params: () => ({ grace_s: 0 }), ends_daemon: true },
};
