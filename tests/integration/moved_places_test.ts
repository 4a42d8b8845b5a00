/** What follows a session to the new path of its directory, and what each face says of it. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { sha256Hex } from "../../src/base/sha256.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { granted } from "../support/permissions.ts";
import { gitInstalled, Repository } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { canMount, SmallDisk } from "../support/small_disk.ts";
import { hasProgram } from "../support/programs.ts";
import { can_run_svc, svcCommand } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const is_root = !ignore && granted("sys") && Deno.uid() === 0;
const answering = () => ({ text: "Done." });
const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });

async function restart(it: Scenario, meanwhile = () => {}) {
  await it.client[Symbol.asyncDispose]();
  await it.daemon.stop();
  meanwhile();
  it.daemon = await it.place.serve();
  it.client = await it.daemon.rpc();
}

Deno.test({
  name: "git, and the worktrees that svc made, work in a repository that was renamed with them",
  ignore: ignore || !gitInstalled(),
  async fn() {
    using repo = new Repository();
    await using it = await Scenario.begin([
      { text: "First." },
      { text: "First in the worktree." },
      run("git rev-parse --show-toplevel --abbrev-ref HEAD; echo b >b.txt; git status --short"),
      { text: "Looked in the worktree." },
      run("git rev-parse --show-toplevel --abbrev-ref HEAD"),
      { text: "Looked." },
    ]);
    const start = (workdir: string) =>
      it.client.session({ workdir, model: it.model, approval: "auto" });
    const main = await start(repo.root);
    const { path } = await it.client.rpc.call("worktree.create", {
      session_id: main,
      name: "task",
    });
    const task = await start(path);
    await it.client.turn(main, "first");
    await it.client.turn(task, "first");
    const renamed = `${repo.root}-renamed`;
    Deno.renameSync(repo.root, renamed);
    try {
      const { worktrees } = await it.client.rpc.call("worktree.list", { session_id: main });
      const there = join(renamed, ".svc", "worktrees", "task");
      assertEquals(worktrees.map(({ path }: { path: string }) => path), [there]);
      await it.client.turn(task, "second");
      await it.client.turn(main, "second");
      const outputs = it.client.of("session.tool_completed").map(({ data }) => data.output);
      assertStringIncludes(outputs[0], `${there}\nsvc/task\n?? b.txt`);
      assertStringIncludes(outputs[1], `${renamed}\nmain`);
      const { files } = await it.client.rpc.call("worktree.diff", {
        session_id: main,
        name: "task",
      });
      assertEquals(files.map(({ path }: { path: string }) => path), ["b.txt"]);
    } finally {
      Deno.renameSync(renamed, repo.root);
    }
  },
});

const SERVER = `#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$1" "$2"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case "$line" in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) answer "$id" "{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"in $PWD.\\"}]}" ;;
  esac
done
`;

Deno.test({
  name: "a project's tool servers, once allowed for the new path, run in it",
  ignore,
  async fn() {
    const look = { calls: [{ name: "mcp_mine_look", args: {} }] };
    const toml = "[policy]\nallow_project = true\n";
    const steps = [look, { text: "Looked." }, look, { text: "Looked again." }];
    await using it = await Scenario.begin(steps, { toml });
    Deno.writeTextFileSync(join(it.workdir, "server.sh"), SERVER, { mode: 0o700 });
    const policy = "mcp_servers:\n  - { name: mine, transport: stdio, command: ./server.sh }\n";
    Deno.writeTextFileSync(join(it.workdir, "svc.policy.yaml"), policy);
    const sha256 = await sha256Hex(policy);
    const approve = async () => {
      await it.call("mcp.approve_project", { sha256 });
      await it.call("mcp.list_tools");
    };
    await approve();
    await it.turn("first");
    const renamed = `${it.workdir}-renamed`;
    Deno.renameSync(it.workdir, renamed);
    await approve();
    await it.turn("second");
    const outputs = it.client.of("session.tool_completed").map(({ data }) => data.output);
    assertStringIncludes(outputs[0], `in ${it.workdir}.`);
    assertStringIncludes(outputs[1], `in ${renamed}.`);
  },
});

Deno.test({
  name: "what was denied for a directory stays denied at its new path; what was allowed is asked",
  ignore,
  async fn() {
    const steps = [run("echo allowed"), run("echo denied"), { text: "Done." }];
    await using it = await Scenario.begin([...steps, ...steps], { start: { approval: "ask" } });
    const keep = (action: string, rule: string) =>
      it.client.rpc.call("permissions.add", {
        action,
        rule,
        scope: "directory",
        directory: it.workdir,
      });
    await keep("allow", "run_command: echo allowed");
    await keep("deny", "run_command: echo denied");
    await it.turn("first");
    Deno.renameSync(it.workdir, `${it.workdir}-renamed`);
    await it.send("second");
    const { data } = await it.event("approval.requested");
    assertEquals(data.args.command, "echo allowed");
    await it.call("session.approve", { approval_id: data.approval_id, decision: "allow" });
    await until(() => it.client.of("turn.completed").length === 2, "the turn");
    const ends = it.client.of("session.tool_completed").map(({ data }) => data.ok);
    assertEquals(ends, [true, false, true, false]);
    assertEquals(it.client.of("approval.requested").length, 1);
  },
});

Deno.test({
  name: "a session from before directories were recorded is found once it was opened",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const dirs = [it.workdir, `${it.workdir}-1`, `${it.workdir}-2`];
    const forgotten = () => {
      const journal = join(dirs[0], ".svc", "sessions", it.session_id, "journal.ndjson");
      const text = Deno.readTextFileSync(journal);
      assertStringIncludes(text, '"directory":');
      Deno.writeTextFileSync(journal, text.replaceAll(/,"directory":\{[^}]*\}/g, ""));
      const ledger = join(it.place.home, "ledger");
      for (const { name, isFile } of Deno.readDirSync(ledger)) {
        if (isFile) Deno.removeSync(join(ledger, name));
      }
    };
    // Renamed before this svc has seen it: only the person knows.
    await restart(it, () => {
      forgotten();
      Deno.renameSync(dirs[0], dirs[1]);
    });
    const refused = await assertRejects(() => it.send("lost"), SvcError);
    assertStringIncludes(refused.hint!, `svc ctl sessions move ${it.session_id} DIR`);
    await it.call("session.move", { workdir: dirs[1] });
    await it.call("session.subscribe", { since_seq: 0 });
    await it.turn("second");
    await restart(it, () => Deno.renameSync(dirs[1], dirs[0]));
    await it.call("session.subscribe", { since_seq: 0 });
    await it.turn("third");
    // Opened in its place.
    await restart(it, forgotten);
    await it.call("session.subscribe", { since_seq: 0 });
    await it.event("session.located");
    await it.turn("fourth");
    await restart(it, () => Deno.renameSync(dirs[0], dirs[2]));
    await it.call("session.subscribe", { since_seq: 0 });
    await it.turn("fifth");
    assertEquals(it.client.of("session.located").length, 1);
    assertEquals((await it.call("session.get")).workdir, dirs[2]);
  },
});

Deno.test({
  name: "the terminal says what to run, and shows the new directory",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const view = async () => {
      const { view } = await it.call("tui.snapshot", { cols: 160, rows: 40 });
      return view as string;
    };
    const type = async (text: string) => {
      await it.call("tui.press_key", { text });
      await it.call("tui.press_key", { key: "enter" });
    };
    const shows = (text: RegExp) => until(async () => text.test(await view()), String(text));
    await shows(/Done\./);
    const away = join(it.place.mkdir("far/away"), "new-name");
    Deno.renameSync(it.workdir, away);
    await type("second");
    await shows(new RegExp(`svc ctl sessions move ${it.session_id}`));
    const { code, stderr } = await it.place.svc(["ctl", "sessions", "move", it.session_id, away]);
    assertEquals([code, stderr], [0, ""]);
    await shows(/the session now works in .*new-name/);
    await shows(/new-name · local\/model-1|local\/model-1.*new-name/);
    await it.call("tui.press_key", { key: "ctrl-u" });
    await type("third");
    await shows(/third[^]*Done\./);
  },
});

Deno.test({
  name: "a session whose disk is not mounted says so, and goes on when it is back",
  ignore: ignore || !canMount(),
  async fn() {
    await using it = await Scenario.begin(answering);
    const disk = it.place.mkdir("disk");
    const kept = it.place.mkdir("far/kept");
    const workdir = join(disk, "project");
    const mount = (from: string, to: string) =>
      assert(new Deno.Command("mount", { args: ["--bind", from, to] }).outputSync().success);
    const unmount = () =>
      assert(new Deno.Command("umount", { args: ["-l", disk] }).outputSync().success);
    using _memory = new SmallDisk(kept, 4096);
    mount(kept, disk);
    try {
      Deno.mkdirSync(workdir);
      it.session_id = await it.client.session({ workdir, model: it.model, approval: "auto" });
      await it.turn("first");
      unmount();
      const open = await assertRejects(() => it.send("lost"), SvcError);
      assertMatch(open.hint!, /if it is on a disk that is not mounted, mount it/);
      await restart(it);
      const closed = await assertRejects(() => it.send("lost"), SvcError);
      assertMatch(closed.message, /its directory is not at .*disk\/project/);
      assertMatch(closed.hint!, /if it is on a disk that is not mounted, mount it/);
      mount(kept, disk);
      await it.call("session.subscribe", { since_seq: 0 });
      await it.turn("second");
      assertEquals((await it.call("session.get")).workdir, workdir);
      await it.daemon.stop();
    } finally {
      new Deno.Command("umount", { args: ["-l", disk], stderr: "null" }).outputSync();
    }
  },
});

Deno.test({
  name: "a session whose directory may not be read says so, and goes on when it may be again",
  ignore: ignore || is_root && !hasProgram("setpriv"),
  async fn() {
    // Also root is refused without these capabilities.
    const [program, first] = svcCommand();
    const args = ["--bounding-set=-dac_override,-dac_read_search", program, ...first];
    const command: [string, string[]] = is_root ? ["setpriv", args] : [program, first];
    await using it = await Scenario.begin(answering, { command });
    await it.turn("first");
    Deno.chmodSync(it.workdir, 0);
    try {
      const open = await assertRejects(() => it.send("lost"), SvcError);
      assertMatch(open.message, /Permission denied/);
      assertEquals(open.hint?.includes(`chmod u+rwx ${it.workdir}`), true);
      await restart(it);
      const closed = await assertRejects(() => it.send("lost"), SvcError);
      assertEquals(closed.code, "unavailable");
      assertMatch(closed.message, /its directory cannot be read: Permission denied/);
      assertEquals(closed.hint, open.hint);
      const chat = await it.place.svc(["chat", "-c", it.workdir, "-p", "lost"]);
      assertEquals(chat.code, 1);
      assertMatch(chat.stderr, /cannot be read/);
    } finally {
      Deno.chmodSync(it.workdir, 0o755);
    }
    await it.call("session.subscribe", { since_seq: 0 });
    await it.turn("second");
    assertEquals(it.client.of("session.moved").length, 0);
  },
});
