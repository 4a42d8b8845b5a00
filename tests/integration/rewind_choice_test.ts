/** A rewind keeps or overwrites what somebody else changed, file by file. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { runUndo, undoCommand } from "../../src/features/chat_commands/undo_command.ts";
import { McpClient } from "../support/mcp.ts";
import { gitInstalled } from "../support/repository.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";

const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });

async function errorOf(promise: Promise<unknown>): Promise<SvcError> {
  return await assertRejects(() => promise) as SvcError;
}

/** The files of a directory with their content. */
function filesOf(dir: string, prefix = ""): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { name, isDirectory } of Deno.readDirSync(join(dir, prefix))) {
    if (name === ".svc") continue;
    const path = prefix + name;
    if (isDirectory) Object.assign(files, filesOf(dir, `${path}/`));
    else files[path] = Deno.readTextFileSync(join(dir, path));
  }
  return files;
}

/** A session whose turn wrote a, b, c and new; a person then changed b, c and new. */
async function changedByBoth(): Promise<Scenario> {
  const it = await Scenario.begin([
    run("for f in a b c new; do echo model >$f; done"),
    { text: "Done." },
    run("echo again >a"),
    { text: "Done." },
  ]);
  const put = (name: string, text: string) => Deno.writeTextFileSync(join(it.workdir, name), text);
  for (const name of ["a", "b", "c"]) put(name, "old\n");
  await it.turn("go");
  for (const name of ["b", "c", "new"]) put(name, "mine\n");
  return it;
}

const MINE = { a: "model\n", b: "mine\n", c: "mine\n", new: "mine\n" };

Deno.test({
  name: "force with names overwrites these files, and keeps and names the others",
  ignore,
  async fn() {
    await using it = await changedByBoth();
    const refused = await errorOf(it.call("session.rewind"));
    assertEquals(refused.code, "conflict");
    assertEquals(refused.details, { files: ["b", "c", "new"], files_changed: 3 });
    assertStringIncludes(refused.message, "b, c, new");
    assertStringIncludes(refused.hint!, 'force: ["b"]');
    assertEquals(filesOf(it.workdir), MINE);

    const unknown = await errorOf(it.call("session.rewind", { force: ["b", "other"] }));
    assertEquals(unknown.code, "validation");
    assertStringIncludes(unknown.message, "other");
    assertEquals(filesOf(it.workdir), MINE);

    const done = await it.call("session.rewind", { force: ["b", "new"] });
    assertEquals([done.files, done.files_deleted], [["a", "b", "new"], 1]);
    assertEquals(done.kept, [{ path: "c", reason: "changed" }]);
    assertEquals(filesOf(it.workdir), { a: "old\n", b: "old\n", c: "mine\n" });
    const { data } = await it.event("session.rewound");
    const { kept, kept_count } = data.files as { kept: string[]; kept_count: number };
    assertEquals([kept, kept_count], [["c"], 1]);
    const changes = await it.call("session.changes");
    assertEquals([changes.files, changes.others], [[], []]);

    await it.call("session.rewind", { undo: true });
    assertEquals(filesOf(it.workdir), MINE);
    const kept_all = await it.call("session.rewind", { force: [] });
    assertEquals([kept_all.files, kept_all.kept_count], [["a"], 3]);
    assertEquals(filesOf(it.workdir), { ...MINE, a: "old\n" });

    // What was kept goes back later, when it is named with its message.
    const { message_id } = kept_all;
    const later = await errorOf(it.call("session.rewind", { message_id }));
    assertEquals(later.details, { files: ["b", "c", "new"], files_changed: 3 });
    await it.call("session.rewind", { message_id, force: true });
    assertEquals(filesOf(it.workdir), { a: "old\n", b: "old\n", c: "old\n" });
  },
});

Deno.test({
  name: "svc ctl, /undo, MCP and REST force one file",
  ignore,
  async fn() {
    await using it = await changedByBoth();
    const { session_id, workdir } = it;
    const ctl = (...args: string[]) => it.place.svc(["ctl", "sessions", "rewind", ...args]);
    const expected = { a: "old\n", b: "old\n", c: "mine\n", new: "mine\n" };
    const forced = async () => {
      assertEquals(filesOf(workdir), expected);
      await it.call("session.rewind", { undo: true });
      assertEquals(filesOf(workdir), MINE);
    };

    const refused = await ctl(session_id);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, "--force-file b");
    const done = await ctl(session_id, "--force-file", "b");
    assertEquals(done.code, 0, done.stderr);
    assertStringIncludes(done.stdout, "2 files back, 2 kept because somebody changed them since");
    await forced();
    assert((await ctl(session_id, "--force", "--keep")).code !== 0);
    assertEquals(filesOf(workdir), MINE);

    // deno-lint-ignore no-explicit-any -- any verb
    const call = (name: string, params: any): Promise<any> => it.client.rpc.call(name, params);
    await runUndo(undoCommand("/undo force b")!, session_id, call);
    await forced();
    await runUndo(undoCommand("/undo files keep")!, session_id, call);
    assertEquals(filesOf(workdir), { ...MINE, a: "old\n" });
    await runUndo(undoCommand("/redo")!, session_id, call);
    assertEquals(filesOf(workdir), MINE);

    {
      await using mcp = await McpClient.http(it.daemon, "?caps=all");
      const { tools } = await mcp.client.listTools();
      const { name } = tools.find((tool) => /session.rewind$/.test(tool.name))!;
      await mcp.data(name, { session_id, force: ["b"] });
    }
    await forced();

    const path = `/v1/sessions/${session_id}/rewind`;
    const { status } = await it.daemon.http("POST", path, { force: ["b"] });
    assertEquals(status, 200);
    await forced();
  },
});

Deno.test({
  name: "a file that is kept where a directory was keeps what was in the directory away",
  ignore,
  async fn() {
    await using it = await Scenario.begin([run("echo model >d/f; echo model >g"), {
      text: "Done.",
    }]);
    const { workdir } = it;
    Deno.mkdirSync(join(workdir, "d"));
    for (const path of ["d/f", "d/e", "g"]) Deno.writeTextFileSync(join(workdir, path), "old\n");
    await it.turn("go");
    Deno.removeSync(join(workdir, "d"), { recursive: true });
    Deno.writeTextFileSync(join(workdir, "d"), "mine\n");
    const done = await it.call("session.rewind", { force: [] });
    assertEquals(done.files, ["g"]);
    assertEquals(filesOf(workdir), { d: "mine\n", g: "old\n" });
    const paths = done.kept.map(({ path }: { path: string }) => path);
    assertEquals(paths.sort(), ["d", "d/e", "d/f"]);
    await it.call("session.rewind", { undo: true });
    await it.call("session.rewind", { force: ["d/e"] });
    assertEquals(filesOf(workdir), { d: "mine\n", g: "old\n" });
    await it.call("session.rewind", { undo: true });
    await it.call("session.rewind", { force: true });
    assertEquals(filesOf(workdir), { "d/e": "old\n", "d/f": "old\n", g: "old\n" });
  },
});

Deno.test({
  name: "an empty directory in the way of a file goes, one with an ignored file stays",
  ignore,
  async fn() {
    await using it = await Scenario.begin([run("rm a b; echo model >c"), { text: "Done." }]);
    const { workdir } = it;
    const put = (name: string, text: string) => Deno.writeTextFileSync(join(workdir, name), text);
    for (const name of ["a", "b", "c"]) put(name, "old\n");
    put(".gitignore", "*.o\n");
    await it.turn("go");
    Deno.mkdirSync(join(workdir, "a/deep/er"), { recursive: true });
    Deno.mkdirSync(join(workdir, "b"));
    put("b/x.o", "mine\n");
    const now = filesOf(workdir);
    const error = await errorOf(it.call("session.rewind", { force: true }));
    assertEquals([error.code, error.details], ["conflict", { files: ["b"], files_changed: 1 }]);
    assertEquals(filesOf(workdir), now);
    const done = await it.call("session.rewind", { force: [] });
    assertEquals(done.kept, [{ path: "b", reason: "not_stored" }]);
    const expected = { ".gitignore": "*.o\n", a: "old\n", "b/x.o": "mine\n", c: "old\n" };
    assertEquals(filesOf(workdir), expected);
    Deno.removeSync(join(workdir, "b"), { recursive: true });
    await it.call("session.rewind", { message_id: done.message_id, force: true });
    assertEquals(filesOf(workdir).b, "old\n");
  },
});
