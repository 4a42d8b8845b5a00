/** One file, or what one turn changed, goes back to before that turn. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { runUndo, undoCommand } from "../../src/features/chat_commands/undo_command.ts";
import { McpClient } from "../support/mcp.ts";
import { gitInstalled } from "../support/repository.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";

/** A session with a turn for each command, in a directory with `a` and `b c`. */
async function turns(...commands: string[]): Promise<Scenario> {
  const it = await Scenario.begin(commands.flatMap((command) => [
    { calls: [{ name: "run_command", args: { command } }] },
    { text: "Done." },
  ]));
  for (const name of ["a", "b c"]) Deno.writeTextFileSync(join(it.workdir, name), "0");
  return it;
}

async function errorOf(promise: Promise<unknown>): Promise<SvcError> {
  return await assertRejects(() => promise) as SvcError;
}

function readIfAny(it: Scenario, name: string): string | undefined {
  try {
    return Deno.readTextFileSync(join(it.workdir, name));
  } catch {
    return undefined;
  }
}

const WRITE_1 = "printf 1 >a; printf 1 >'b c'";
const WRITE_2 = "printf 2 >a; printf 2 >new";

Deno.test({
  name: "one file goes back turn by turn, the others stay, and that is undone",
  ignore,
  async fn() {
    await using it = await turns(WRITE_1, WRITE_2);
    const state = () => ["a", "b c", "new"].map((name) => readIfAny(it, name));
    await it.turn("one");
    await it.turn("two");
    assertEquals(state(), ["2", "1", "2"]);
    const said = await it.call("session.transcript");
    const done = await it.call("session.undo_file", { path: "a" });
    assertEquals([done.files, done.files_changed], [["a"], 1]);
    assertEquals(state(), ["1", "1", "2"]);
    await it.call("session.undo_file", { path: join(it.workdir, "a") });
    assertEquals(state(), ["0", "1", "2"]);
    assertEquals((await errorOf(it.call("session.undo_file", { path: "a" }))).code, "not_found");
    const [{ data }] = it.client.of("session.rewound");
    const { only, files } = data as { only: { path: string }; files: { changed: number } };
    assertEquals([only.path, files.changed], ["a", 1]);
    const { messages } = await it.call("session.transcript");
    assertEquals(messages, said.messages, "the conversation stays");

    await it.restart();
    assertEquals((await errorOf(it.call("session.undo_file", { path: "a" }))).code, "not_found");
    await it.call("session.rewind", { undo: true });
    assertEquals(state(), ["1", "1", "2"]);
    await it.call("session.rewind", { undo: true });
    assertEquals(state(), ["2", "1", "2"]);
    await it.call("session.undo_file", { path: "new" });
    assertEquals(state(), ["2", "1", undefined]);
    // A rewind takes the rest, and does not mind that one file went before.
    await it.call("session.rewind");
    assertEquals(state(), ["1", "1", undefined]);
    for (const path of ["none", "../a", ".git/config"]) {
      assertEquals((await errorOf(it.call("session.undo_file", { path }))).code, "not_found");
    }
    assertEquals((await errorOf(it.call("session.undo_file"))).code, "validation");
  },
});

Deno.test({
  name: "what one turn changed goes back, and what changed since is refused by name",
  ignore,
  async fn() {
    await using it = await turns(WRITE_1, WRITE_2);
    const state = () => ["a", "b c", "new"].map((name) => readIfAny(it, name));
    const { message_id } = await it.send("one");
    await it.event("turn.completed");
    await it.turn("two");
    const [one, two] = (await it.call("session.changes")).turns;
    const error = await errorOf(it.call("session.undo_file", { turn_id: one.turn_id }));
    assertEquals([error.code, error.details], ["conflict", { files: ["a"], files_changed: 1 }]);
    assertEquals(state(), ["2", "1", "2"]);
    const kept = await it.call("session.undo_file", { message_id, force: [] });
    assertEquals([kept.files, kept.kept], [["b c"], [{ path: "a", reason: "changed" }]]);
    assertEquals(state(), ["2", "0", "2"]);
    await it.call("session.rewind", { undo: true });
    await it.call("session.undo_file", { message_id, force: ["a"] });
    assertEquals(state(), ["0", "0", "2"]);
    await it.call("session.rewind", { undo: true });
    assertEquals(state(), ["2", "1", "2"]);

    await it.call("session.undo_file", { turn_id: two.turn_id });
    assertEquals(state(), ["1", "1", undefined]);
    const { turns: now } = await it.call("session.changes");
    assertEquals(now.map(({ undone }: { undone: boolean }) => undone), [false, true]);
    const again = await errorOf(it.call("session.undo_file", { turn_id: two.turn_id }));
    assertEquals(again.code, "not_found");

    Deno.writeTextFileSync(join(it.workdir, "b c"), "mine");
    const mine = await errorOf(it.call("session.undo_file", { path: "b c" }));
    assertEquals(mine.code, "conflict");
    assertStringIncludes(mine.hint!, "/undo b c force");
    assertEquals(state(), ["1", "mine", undefined]);
  },
});

Deno.test({
  name: "svc ctl, /undo FILE, MCP and REST undo one file",
  ignore,
  async fn() {
    await using it = await turns(WRITE_1);
    const { session_id } = it;
    await it.turn("one");
    const undone = async (how: string) => {
      assertEquals([readIfAny(it, "a"), readIfAny(it, "b c")], ["1", "0"], how);
      await it.call("session.rewind", { undo: true });
      assertEquals(readIfAny(it, "b c"), "1");
    };
    const ctl = await it.place.svc(["ctl", "sessions", "undo-file", session_id, "b c"]);
    assertEquals(ctl.code, 0, ctl.stderr);
    assertStringIncludes(ctl.stdout, "1 file back\n  b c");
    await undone("svc ctl");

    // deno-lint-ignore no-explicit-any -- any verb
    const call = (name: string, params: any): Promise<any> => it.client.rpc.call(name, params);
    await runUndo(undoCommand("/undo b c")!, session_id, call);
    await undone("/undo");
    Deno.writeTextFileSync(join(it.workdir, "b c"), "mine");
    await errorOf(runUndo(undoCommand("/undo b c")!, session_id, call));
    await runUndo(undoCommand("/undo b c force")!, session_id, call);
    assertEquals(readIfAny(it, "b c"), "0");
    await it.call("session.rewind", { undo: true });
    Deno.writeTextFileSync(join(it.workdir, "b c"), "1");
    {
      await using mcp = await McpClient.http(it.daemon, "?caps=all");
      const { tools } = await mcp.client.listTools();
      const { name } = tools.find((tool) => /session.undo_file$/.test(tool.name))!;
      await mcp.data(name, { session_id, path: "b c" });
    }
    await undone("MCP");
    const at = `/v1/sessions/${session_id}/undo_file`;
    assertEquals((await it.daemon.http("POST", at, { path: "b c" })).status, 200);
    await undone("REST");
  },
});
