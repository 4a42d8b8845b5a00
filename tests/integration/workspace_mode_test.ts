/** `workspace`: what stays in the session's directories runs, everything else is asked about. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { methods } from "@agentclientprotocol/sdk";
import { join } from "@std/path";
import { Editor } from "../support/acp.ts";
import type { Answer } from "../support/model_servers.ts";
import { hasProgram } from "../support/programs.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, Place, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !hasProgram("bwrap");
const DONE: Answer = { text: "Done." };
type Call = [name: string, args: Record<string, unknown>];

/** A session whose model makes the calls one after the other. */
async function begin(calls: readonly Call[], toml = ""): Promise<Scenario> {
  return await Scenario.begin(({ messages }) => {
    const turns = messages.filter(({ role }) => role === "assistant").length;
    const call = calls[turns];
    return call === undefined ? DONE : { calls: [{ name: call[0], args: call[1] }] };
  }, { start: { approval: "workspace" }, toml });
}

/** Sends a message, denies what is asked, and returns the tools and the questions. */
async function turn(it: Scenario) {
  const from = it.client.events.length;
  // deno-lint-ignore no-explicit-any -- the data of any event
  const since = (type: string): any[] =>
    it.client.events.slice(from).filter((event) => event.type === type).map(({ data }) => data);
  let over = false;
  const ended = it.turn("go").then(() => over = true);
  for (let answered = 0;; answered++) {
    const asked = () => since("approval.requested")[answered];
    await until(() => over || asked() !== undefined, "a question or the end");
    if (asked() === undefined) break;
    const { approval_id } = asked();
    await it.call("session.approve", { approval_id, decision: "deny" });
  }
  await ended;
  return {
    asked: since("approval.requested").map(({ reason }) => String(reason)),
    done: since("session.tool_completed").map(({ ok, output }) => ({ ok, output })),
  };
}

Deno.test({
  name: "files and sandboxed commands of the directory run, what leads out of it asks",
  ignore,
  async fn() {
    const reason = "the work needs it";
    const inside: Call[] = [
      ["write_file", { path: "a.txt", content: "one\n" }],
      ["edit_file", { path: "a.txt", old_text: "one", new_text: "two" }],
      ["apply_patch", { patch: "*** Begin Patch\n*** Add File: b.txt\n+three\n*** End Patch" }],
      ["run_command", { command: "cat a.txt b.txt > c.txt" }],
      ["run_command", { command: "sleep 0.1", background: true }],
    ];
    const outside: Call[] = [
      ["run_command", { command: "true", network: true, reason }],
      ["run_command", { command: "true", outside_sandbox: true, reason }],
      ["run_command", { command: "true", paths: [{ path: "~/x" }], reason }],
      ["write_file", { path: ".envrc", content: "x" }],
      ["fetch_url", { url: "https://example.invalid/" }],
      ["remember", { text: "they like tabs", category: "preference", scope: "global" }],
    ];
    await using it = await begin([...inside, ...outside]);
    const first = await turn(it);
    assertEquals(first.done.slice(0, inside.length).map(({ ok }) => ok), inside.map(() => true));
    assertEquals(first.asked.length, outside.length, first.asked.join("\n"));
    assertEquals(Deno.readTextFileSync(join(it.workdir, "c.txt")), "two\nthree\n");
    assertStringIncludes(JSON.stringify(it.server.requests[0].body), "workspace: reading, changes");
  },
});

Deno.test({
  name:
    "the mode holds over a restart; rules that deny or ask come first; without a sandbox it asks",
  ignore,
  async fn() {
    const calls: Call[] = [
      ["write_file", { path: "a.txt", content: "1" }],
      ["write_file", { path: "locked/a.txt", content: "1" }],
      ["run_command", { command: "git push" }],
    ];
    const rules =
      '[permissions]\nask = ["run_command: git push*"]\ndeny = ["write_file: locked/**"]\n';
    await using it = await begin(calls, rules);
    await it.restart();
    const { asked, done } = await turn(it);
    assertEquals(done.map(({ ok }) => ok), [true, false, false]);
    assertEquals(asked.length, 1);
    assertStringIncludes(asked[0], "git push");
    assertEquals((await it.call("session.get")).approval, "workspace");

    await using bare = await begin([
      ["write_file", { path: "a.txt", content: "1" }],
      ["run_command", { command: "true" }],
    ], '[sandbox]\nshell = "none"\n');
    const without = await turn(bare);
    assertEquals(without.done.map(({ ok }) => ok), [true, false]);
    assertEquals(without.asked.length, 1);
  },
});

Deno.test({
  name: "Shift-Tab changes the mode in the terminal UI, and never to auto",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin([DONE], { start: { approval: "ask" } });
    await using terminal = await TmuxTerminal.open(it.place, { cols: 120, rows: 24 });
    await terminal.line(svcLine("chat", "--session", it.session_id));
    for (const mode of ["ask", "workspace", "read_only", "ask"]) {
      await terminal.shows(`approval ${mode} ·`);
      await terminal.press("BTab");
    }
    await until(async () => (await it.call("session.get")).approval === "workspace", "the mode");
    await it.call("session.configure", { approval: "auto" });
    await terminal.shows("approval auto ·");
    await terminal.press("BTab");
    await terminal.shows("approval ask ·");
    await terminal.press("C-c");
    await terminal.press("C-c");
  },
});

Deno.test({
  name: "an editor sees the modes, changes them, and is told when another face does",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    await using editor = new Editor(place);
    await editor.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: {},
    });
    const { sessionId, modes } = await editor.agent.request(methods.agent.session.new, {
      cwd: workdir,
      mcpServers: [],
    });
    assertEquals(modes?.currentModeId, "ask");
    const ids = ["ask", "workspace", "auto", "read_only"];
    assertEquals(modes?.availableModes.map(({ id }) => id), ids);
    const setMode = (modeId: string) =>
      editor.agent.request(methods.agent.session.setMode, { sessionId, modeId });
    await setMode("workspace");
    const shown = await place.svc(["ctl", "sessions", "get", sessionId]);
    assertEquals(JSON.parse(shown.stdout).approval, "workspace");
    await assertRejects(() => setMode("everything"), Error, "no mode is named everything");
    await place.svc(["ctl", "sessions", "configure", sessionId, "--approval", "read_only"]);
    const modesTold = () =>
      editor.updates.flatMap((it) =>
        it.sessionUpdate === "current_mode_update" ? [it.currentModeId] : []
      );
    await until(() => modesTold().length === 2, "the change");
    assertEquals(modesTold(), ["workspace", "read_only"]);
    const again = await editor.agent.request(methods.agent.session.load, {
      sessionId,
      cwd: workdir,
      mcpServers: [],
    });
    assertEquals(again?.modes?.currentModeId, "read_only");
  },
});
