/** Directories that a person adds to a session, and a model that tries to do more with them. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import type { Answer } from "../support/model_servers.ts";
import { hasProgram } from "../support/programs.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !hasProgram("bwrap");
const DONE: Answer = { text: "Done." };

type Call = [name: string, args: Record<string, unknown>];

/** A session in `project`, beside it `lib` (added) and `docs` (added for reading). */
class Added {
  /** By the answers before each; undefined ends a turn. */
  readonly calls: (Call | undefined)[] = [];
  it!: Scenario;

  static async begin(start: (at: (name: string) => string) => Record<string, unknown>) {
    const all = new Added();
    const script = (request: { messages: { role: string }[] }): Answer => {
      const done = request.messages.filter(({ role }) => role === "assistant").length;
      const call = all.calls[done];
      return call === undefined ? DONE : { calls: [{ name: call[0], args: call[1] }] };
    };
    all.it = await Scenario.begin(script, { start: {} });
    for (const name of ["lib", "docs", "other"]) {
      all.it.place.mkdir(name);
      Deno.writeTextFileSync(join(all.at(name), "a.txt"), `needle of ${name}\n`);
    }
    Deno.symlinkSync(all.at("other"), join(all.at("lib"), "out"));
    const params = start((name) => all.at(name));
    if (Object.keys(params).length > 0) await all.it.call("session.configure", params);
    return all;
  }

  at(name: string): string {
    return join(Deno.realPathSync(join(this.it.workdir, "..")), name);
  }

  /** Has the model make these calls in one turn; returns the results. */
  async turn(...calls: Call[]) {
    this.calls.push(...calls, undefined);
    await this.it.turn("go");
    return this.it.client.of("session.tool_completed").slice(-calls.length)
      .map(({ data }) => ({ ok: data.ok as boolean, output: data.output as string }));
  }

  async [Symbol.asyncDispose]() {
    await this.it[Symbol.asyncDispose]();
  }
}

const both = (at: (name: string) => string) => ({
  add_dirs: [{ path: at("lib") }, { path: at("docs"), access: "read" }],
});

Deno.test({
  name: "tools and commands use added directories, also after a restart, and no others",
  ignore,
  async fn() {
    await using all = await Added.begin(both);
    const [lib, docs, other] = ["lib", "docs", "other"].map((name) => all.at(name));
    const first = await all.turn(
      ["read_file", { path: `${lib}/a.txt` }],
      ["edit_file", { path: "../lib/a.txt", old_text: "needle", new_text: "thread" }],
      ["write_file", { path: `${lib}/new/b.txt`, content: "needle" }],
      ["grep", { pattern: "needle", path: lib }],
      ["glob", { pattern: `${docs}/*.txt` }],
      ["list_dir", { path: docs }],
      ["run_command", { command: `cat ${docs}/a.txt && echo c > ${lib}/c.txt` }],
    );
    assertEquals(first.map(({ ok }) => ok), first.map(() => true), JSON.stringify(first));
    assertEquals(Deno.readTextFileSync(`${lib}/a.txt`), "thread of lib\n");
    assertEquals(first[3].output, `${lib}/new/b.txt:1: needle`);
    assertEquals(first[4].output, `${docs}/a.txt`);
    assertEquals(Deno.readTextFileSync(`${lib}/c.txt`), "c\n");
    assertStringIncludes(JSON.stringify(all.it.server.requests[0].body), "Added directories");

    await all.it.restart();
    const { added_dirs } = await all.it.call("session.get");
    assertEquals(added_dirs, [{ path: lib, access: "write" }, { path: docs, access: "read" }]);
    const patch = `*** Begin Patch\n*** Delete File: ${lib}/c.txt\n*** End Patch`;
    const refused = await all.turn(
      ["apply_patch", { patch }],
      ["write_file", { path: `${docs}/x.txt`, content: "x" }],
      ["edit_file", { path: `${docs}/a.txt`, old_text: "needle", new_text: "x" }],
      ["run_command", { command: `echo x > ${docs}/x.txt` }],
      ["run_command", { command: `ln -s ${docs} l; echo x > l/x.txt` }],
      ["write_file", { path: "l/x.txt", content: "x" }],
      ["write_file", { path: `${lib}/out/x.txt`, content: "x" }],
      ["read_file", { path: `${lib}/out/a.txt` }],
      ["read_file", { path: `${lib}/../other/a.txt` }],
      ["run_command", { command: `cat ${other}/a.txt` }],
      ["write_file", { path: `${lib}/.git/config`, content: "x" }],
    );
    assertEquals(refused.map(({ ok }) => ok), [true, ...refused.slice(1).map(() => false)]);
    assertStringIncludes(refused[1].output, "read-only for this session");
    assertMatch(refused[3].output, /read-only file system/i);
    assertEquals([...Deno.readDirSync(docs)].map(({ name }) => name), ["a.txt"]);
    assertEquals([...Deno.readDirSync(other)].map(({ name }) => name), ["a.txt"]);

    // The same writes succeed once the person allows them: the probes work.
    await all.it.call("session.configure", { add_dirs: [{ path: docs }, { path: other }] });
    const allowed = await all.turn(
      ["write_file", { path: `${docs}/x.txt`, content: "x" }],
      ["run_command", { command: `cat ${other}/a.txt && echo y > l/y.txt` }],
    );
    assertEquals(allowed.map(({ ok }) => ok), [true, true], JSON.stringify(allowed));
    const fork = await all.it.call("session.fork");
    const forked = await all.it.client.rpc.call("session.get", { session_id: fork.session_id });
    assertEquals(forked.added_dirs.length, 3);

    await all.it.call("session.configure", { remove_dirs: [lib] });
    const [removed] = await all.turn(["read_file", { path: `${lib}/a.txt` }]);
    assertEquals(removed.ok, false);
  },
});

Deno.test({
  name: "a change in an added directory is asked about with its difference, and tested like one",
  ignore,
  async fn() {
    await using all = await Added.begin((at) => ({ ...both(at), approval: "ask" }));
    const lib = all.at("lib");
    const rule = { action: "deny", rule: "write_file: secret/**", scope: "everywhere" };
    await all.it.client.rpc.call("permissions.add", rule);
    const test = (path: string) =>
      all.it.call("permissions.test", { tool: "write_file", input: { path, content: "x" } });
    assertEquals((await test(`${lib}/secret/a.txt`)).decision, "deny");
    assertEquals((await test(`${lib}/open/a.txt`)).decision, "ask");

    all.calls.push(
      ["edit_file", { path: `${lib}/a.txt`, old_text: "needle", new_text: "thread" }],
      ["write_file", { path: `${lib}/secret/a.txt`, content: "x" }],
      undefined,
    );
    const ended = all.it.turn("go");
    const { approval_id, changes, reason } = (await all.it.event("approval.requested")).data;
    assertStringIncludes(reason, `edit ${lib}/a.txt`);
    assertEquals(changes[0].path, `${lib}/a.txt`);
    assertStringIncludes(JSON.stringify(changes), "thread of lib");
    await all.it.call("session.approve", { approval_id, decision: "allow" });
    await ended;
    const [edited, refused] = all.it.client.of("session.tool_completed").map(({ data }) => data);
    assertEquals(edited.ok, true);
    assertStringIncludes(refused.output, "denied by the person's rule");
  },
});

Deno.test({
  name: "bad directories are refused, and a client over MCP adds none",
  ignore,
  async fn() {
    await using all = await Added.begin(() => ({}));
    const { it } = all;
    const refusal = async (path: string) =>
      (await assertRejects(() =>
        it.call("session.configure", { add_dirs: [{ path }] })
      ) as SvcError)
        .message;
    assertStringIncludes(await refusal("/"), "is the root");
    assertStringIncludes(await refusal(all.at("missing")), "does not exist");
    assertStringIncludes(await refusal(`${all.at("lib")}/a.txt`), "is not a directory");
    assertStringIncludes(await refusal(".."), "holds");
    assertEquals((await it.call("session.get")).added_dirs, []);
    assertEquals(it.client.of("session.configured"), []);
  },
});

Deno.test({
  name: "svc chat --add-dir and svc ctl sessions configure add directories",
  ignore,
  async fn() {
    await using all = await Added.begin(() => ({}));
    const { it } = all;
    const [lib, docs] = [all.at("lib"), all.at("docs")];
    const chat = await it.place.svc([
      ...["chat", it.workdir, "-m", "builtin/toolbelt", "-p", "help", "--keep"],
      ...["--add-dir", lib, "--add-dir", `${docs}:ro`],
    ]);
    assertEquals(chat.code, 0, chat.stderr);
    const { sessions } = await it.client.rpc.call("session.list", { workdir: it.workdir });
    const { id: session_id } = sessions.at(-1)!;
    const now = await it.client.rpc.call("session.get", { session_id });
    assertEquals(now.added_dirs, [{ path: lib, access: "write" }, { path: docs, access: "read" }]);
    const ctl = await it.place.svc([
      "ctl",
      "sessions",
      "configure",
      session_id,
      "--remove-dir",
      docs,
    ]);
    assert(ctl.stdout.includes(lib) && !ctl.stdout.includes(docs), ctl.stdout);
  },
});

Deno.test({
  name: "/add-dir adds a directory to a running svc chat, and shows what is added",
  ignore: ignore || !has_tmux,
  async fn() {
    await using all = await Added.begin(() => ({}));
    const { it } = all;
    await using terminal = await TmuxTerminal.open(it.place, { cols: 200 });
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("/help");
    await terminal.prompted();
    await terminal.line("/add-dir ../docs:ro");
    await terminal.shows(/added directories are now \S+docs \(read-only\)/);
    await terminal.prompted();
    await terminal.line("/add-dir ../missing");
    await terminal.shows("does not exist");
    await terminal.prompted();
    assertEquals((await it.call("session.get")).added_dirs, [
      { path: all.at("docs"), access: "read" },
    ]);
    await terminal.line("/quit");
  },
});
