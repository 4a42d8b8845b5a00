/** `svc chat` line by line in words, as screen readers and logs take it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, type TerminalOptions, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;

async function openPlain(
  it: Scenario,
  options: TerminalOptions = {},
  before = "",
  flags = ["--plain"],
): Promise<TmuxTerminal> {
  const terminal = await TmuxTerminal.open(it.place, { cols: 100, rows: 50, ...options });
  await terminal.line(`${before}${svcLine("chat", ...flags, "--session", it.session_id)}`);
  await terminal.prompted();
  return terminal;
}

/** The lines of a screen from the last message on. */
function lastTurn(screen: string): string[] {
  const lines = screen.trimEnd().split("\n");
  return lines.slice(lines.findLastIndex((it) => /^You: ./.test(it)));
}

Deno.test({
  name: "--plain tells a turn in words, a line for each thing, and sends no escape sequence",
  ignore,
  async fn() {
    const edit = { path: "a.txt", old_text: "one", new_text: "two" };
    await using it = await Scenario.begin([
      { text: ["I look", " at it.\n\nThen"], calls: [{ name: "edit_file", args: edit }] },
      { calls: [{ name: "run_command", args: { command: "false" } }] },
      { text: "All is **fine**." },
    ], { start: { approval: "ask" } });
    Deno.writeTextFileSync(join(it.workdir, "a.txt"), "one\n");
    const bytes = join(it.place.dir, "bytes");
    await using terminal = await openPlain(it, { env: { COLORTERM: "truecolor" } });
    assertEquals(await terminal.alternate(), false);
    await terminal.record(bytes);
    await terminal.line("mend it");
    await terminal.shows(/Your answer, 1, 2 or 3, or n, TEXT:\s*$/);
    const answer = async (text: string) => {
      await new Promise((done) => setTimeout(done, 600));
      await terminal.line(text);
    };
    await answer("1");
    await terminal.shows(/allow run_command\?[^]*n, TEXT:\s*$/);
    await answer("n, use true");
    const screen = await terminal.shows(/Finished in [\d.]+ (?:ms|s)\.[^]*You:\s*$/);
    const told = lastTurn(screen).join("\n");
    for (
      const part of [
        "You: mend it\n",
        "\nAnswer: I look at it.\n\nThen\n",
        "\nTool: edit_file a.txt\n",
        "\nQuestion 1 of 1: allow edit_file?\n",
        "\n  removed 1: one\n  added 1: two\n",
        "\nAnswer 1 or y: allow\n",
        "\nTool: run_command false\n",
        "\nFailed: ",
        "\nAnswer: All is **fine**.\nFinished in ",
      ]
    ) assertStringIncludes(told, part);
    await terminal.line("/quit");
    await terminal.shows(/\/quit\s*\n[$#]/);
    const written = Deno.readTextFileSync(bytes);
    // deno-lint-ignore no-control-regex -- no such character may be there
    assertEquals(written.match(/[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]|[●└›│…⠋]/g), null, written);
    assertEquals(Deno.readTextFileSync(join(it.workdir, "a.txt")), "two\n");
  },
});

Deno.test({
  name: "line by line, keys edit what is typed as in a shell, and lines do not come between",
  ignore,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { text: ["one\n", "two\n"], hang_after: 1, go_on },
      { text: "fine" },
    ]);
    await using terminal = await openPlain(it, {}, "TERM=dumb ", []);
    await terminal.type("a mistakx");
    await terminal.press("BSpace");
    await terminal.type("e 界界");
    await terminal.press("BSpace", "BSpace", "C-w");
    await terminal.type("begin");
    await terminal.press("Left", "F5");
    await terminal.shows(/^You: a begin$/m);
    await terminal.press("C-u");
    await terminal.shows(/^You:$/m);
    await terminal.line("begin");
    await terminal.shows(/^Answer: one$/m);
    await terminal.type("typed wh");
    await terminal.shows(/^typed wh$/m);
    resolve();
    for (const letter of "ile it works") {
      await terminal.type(letter);
      await new Promise((done) => setTimeout(done, 100));
    }
    const screen = await terminal.shows(/^typed while it works$/m);
    assert(!screen.includes("Finished"), screen);
    await terminal.press("Enter");
    await terminal.shows(/typed while it works\n(?:.*\n)*two\n(?:.*\n)*Finished in/);
    await terminal.shows(/fine\nFinished in[^\n]*\nYou:\s*$/);
    const said = it.client.of("user.message").map(({ data }) => data.text);
    assertEquals(said, ["begin", "typed while it works"]);
    await terminal.press("Up");
    await terminal.shows(/You: typed while it works\s*$/);
    await terminal.press("Up", "C-u");
    await terminal.type("kept");
    await until(async () => (await it.call("draft.get")).text === "kept", "the draft");
    await terminal.press("C-c");
    await terminal.shows(/kept\s*\n[$#]/);
    await terminal.line("echo the terminal echoes again");
    await terminal.shows(/^the terminal echoes again$/m);
  },
});

Deno.test({
  name: "a setting, ACCESSIBLE, and a missing TERM choose the line mode; --plain has a list too",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    const ends = async (terminal: TmuxTerminal) => {
      assertEquals(await terminal.alternate(), false);
      assertEquals((await terminal.styled()).includes("\x1b["), false);
      await terminal.line("/quit");
      await terminal.shows(/\/quit\s*\n[$#]/);
      await terminal.line("clear");
    };
    await using terminal = await openPlain(it, {}, "ACCESSIBLE=1 ", []);
    await ends(terminal);
    await terminal.line(`env -u TERM ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.prompted();
    await ends(terminal);
    await terminal.line(svcLine("chat", "-r", "--plain"));
    await terminal.shows("Number:");
    await terminal.line("1");
    await terminal.prompted();
    await ends(terminal);
    await terminal.line(`ACCESSIBLE=0 ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("● ready");
    await terminal.press("C-d");
    await terminal.shows("The session continues");
    await terminal.line("clear");
    await it.call("daemon.set_config", { changes: { "terminal.plain": true } });
    await terminal.line(svcLine("chat", "--session", it.session_id));
    await terminal.prompted();
    await ends(terminal);
  },
});

Deno.test({
  name: "a log has what was typed and what was answered",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "The end." }]);
    await using terminal = await TmuxTerminal.open(it.place, { cols: 100 });
    const log = join(it.place.dir, "log");
    await terminal.line(`${svcLine("chat", "--session", it.session_id)} | cat > ${log}`);
    Deno.writeTextFileSync(log, "");
    const logged = () => Deno.readTextFileSync(log);
    await until(() => logged().includes("/help"), "the beginning");
    await terminal.line("hello");
    await until(() => logged().includes("Finished in"), "the end of the turn");
    assertStringIncludes(logged(), "You: hello\nAnswer: The end.\nFinished in ");
    await terminal.line("/quit");
    await terminal.shows(/\/quit\s*\n[$#]/);
    assert(!logged().includes("\x1b"));
  },
});
