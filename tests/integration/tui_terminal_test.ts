/** `svc chat` in a real terminal. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { shellQuote } from "../../src/base/shell_quote.ts";
import { can_run_svc, gone, Place, svcLine } from "../support/svc.ts";
import { processesWith, Scenario } from "../support/scripted.ts";
import { has_tmux, type TerminalOptions, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;
const ASK = { start: { approval: "ask" } };
/** A command that becomes a lane, and ends when the file `go` is there. */
const WAITS = "echo early; until [ -e go ]; do sleep 0.1; done; echo late";

/** Opens `svc chat` on a session. */
async function openChat(
  place: Place,
  session_id: string,
  options: TerminalOptions = {},
): Promise<TmuxTerminal> {
  const terminal = await TmuxTerminal.open(place, options);
  await terminal.line(svcLine("chat", "--session", session_id));
  await terminal.shows(/● (ready|working|waits)/);
  return terminal;
}

/** The process that runs the chat of a session. */
function chatPid(session_id: string): number {
  const found = processesWith(`chat --session ${session_id}`);
  assertEquals(found.length, 1);
  return found[0];
}

Deno.test({
  name: "a turn with a question and a lane, in a terminal that is resized while text streams in",
  ignore,
  async fn() {
    const words = Array.from({ length: 60 }, (_, n) => `word${n} `);
    await using scenario = await Scenario.begin([
      {
        text: "I will run **it**.",
        calls: [{ name: "run_command", args: { command: WAITS } }],
      },
      { text: [...words, "\n日本 👍🏽 done"], pace_ms: 25 },
    ], ASK);
    const { place, session_id } = scenario;
    await using terminal = await openChat(place, session_id);
    await terminal.paste("please\nrun it");
    await terminal.shows("  run it");
    await terminal.press("Enter");
    const asked = await terminal.shows("y allow");
    assertStringIncludes(asked, "› please");
    assertStringIncludes(asked, `run ${WAITS}`);
    await terminal.type("y");
    await terminal.shows("allow  Enter confirms");
    await terminal.press("Enter");
    await terminal.shows(/2 ● run echo early.*early/);
    await terminal.type("2");
    await terminal.shows(/^── Esc goes back · lane running/m);
    await terminal.resize(200, 50);
    await terminal.shows(/^early$/m);
    await terminal.press("Escape");
    Deno.writeTextFileSync(join(scenario.workdir, "go"), "");
    await terminal.shows("word20");
    await terminal.resize(40, 12);
    await terminal.shows(/word[3-5]\d/);
    await terminal.resize(80, 24);
    // With its first word: the smaller screen may have shown the end already.
    const done = await terminal.shows(/word0 [^]*日本 👍🏽 done[^]*● ready/);
    const said = done.match(/word\d+/g)!;
    assertEquals(said, words.map((word) => word.trim()));
    assertStringIncludes(done, "└ early");
    assertStringIncludes(done, "2 ✓ run echo early");
    await terminal.press("C-d");
    await terminal.shows("The session continues. To return: svc chat --session");
    assertEquals(await terminal.alternate(), false);
  },
});

Deno.test({
  name: "a turn that a limit parks: the terminal shows until when, and /continue tries again",
  ignore,
  async fn() {
    const headers = { "retry-after": "90000" };
    await using scenario = await Scenario.begin([
      { status: { code: 429, message: "quota used up", headers } },
      { text: "all well" },
    ]);
    const { place, session_id } = scenario;
    await using terminal = await openChat(place, session_id);
    await terminal.line("go");
    const screen = await terminal.shows(/● parked until \d{4}-\d\d-\d\d \d\d:\d\d · \/continue/);
    assertStringIncludes(screen, "quota used up");
    await terminal.line("/continue");
    await terminal.shows("all well");
    await terminal.shows("● ready");
  },
});

Deno.test({
  name: "20,000 deltas: the terminal shows the last of them and has missed none",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([
      { text: Array<string>(20_000).fill("word ") },
      { text: "and the next" },
    ]);
    const { place, session_id } = scenario;
    await using terminal = await openChat(place, session_id);
    await terminal.line("go");
    const screen = await terminal.shows(/^ {2}word word word word word\n─+\n›\n● ready/m, 120_000);
    assertEquals(screen.match(/^ {2}word /mg)!.length, 21);
    const { last_seq } = await scenario.call("session.get");
    const { matches } = await scenario.call("tui.get_model", { jsonpath: "$['seq', 'link']" });
    assertEquals(matches, [last_seq, "connected"]);
    await terminal.line("go on");
    await terminal.shows("and the next");
  },
});

Deno.test({
  name: "a daemon that is restarted in order: the chat goes on with the next one",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "first" }, { text: "all well" }]);
    const { place, session_id, daemon } = scenario;
    await using terminal = await openChat(place, session_id);
    await terminal.line("hello");
    await terminal.shows("first");
    assertEquals((await place.svc(["serve", "restart"])).code, 0);
    await daemon.ended();
    await terminal.line("are you there?");
    const screen = await terminal.shows("all well");
    assertEquals(screen.match(/› hello/g)!.length, 1);
    assertEquals(screen.match(/› are you there\?/g)!.length, 1);
    assert(place.discovery().pid !== daemon.pid);
  },
});

Deno.test({
  name: "kill -9 of the daemon in a turn: the chat starts it again and loses nothing",
  ignore,
  async fn() {
    const unfinished = { text: ["one ", "two ", "three"], hang_after: 3 };
    await using scenario = await Scenario.begin([unfinished, { text: "all well" }]);
    const { place, session_id, daemon } = scenario;
    await using terminal = await openChat(place, session_id);
    await terminal.line("count");
    await terminal.shows("one two three");
    await daemon.kill();
    // Who looks late sees that it is connected again.
    await terminal.shows(/● reconnecting|! turn interrupted/);
    await terminal.line("are you there?");
    const screen = await terminal.shows("all well");
    assertEquals(screen.match(/one two three/g)!.length, 1);
    assertEquals(screen.match(/› count/g)!.length, 1);
    assertEquals(screen.match(/› are you there\?/g)!.length, 1);
    assertStringIncludes(screen, "! turn interrupted");
    assert(place.discovery().pid !== daemon.pid);

    const pid = chatPid(session_id);
    Deno.kill(pid, "SIGTERM");
    assert(await gone(pid));
    assertEquals(await terminal.alternate(), false);
    await terminal.line("echo code $?; stty -a | tr -d '\\n'");
    const after = await terminal.shows(/code \d+/);
    assertStringIncludes(after, "code 143");
    await terminal.shows(/ icanon [^]* echo /);
  },
});

Deno.test({
  name: "a daemon that was stopped is waited for, and not started behind the person's back",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "hello again" }]);
    const { place, session_id, daemon } = scenario;
    await using terminal = await openChat(place, session_id);
    await daemon.stop();
    await terminal.shows("the daemon has stopped; sending a message starts it");
    const next = await place.serve();
    await terminal.shows(/the daemon was restarted[^]*● ready/);
    assertEquals(place.discovery().pid, next.pid);
    await terminal.line("hello");
    await terminal.shows("hello again");
  },
});

Deno.test({
  name: "Ctrl-Z gives the terminal to the shell, fg takes it again; Ctrl-C leaves at the second",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "x", hang_after: 1 }]);
    await using terminal = await openChat(scenario.place, scenario.session_id);
    await terminal.type("half a mess");
    await terminal.shows("› half a mess");
    await terminal.press("C-z");
    await terminal.shows("Stopped");
    assertEquals(await terminal.alternate(), false);
    await terminal.line("fg");
    await terminal.shows("› half a mess");
    await terminal.line("age");
    await terminal.shows("● working");
    await terminal.press("C-c");
    await terminal.shows(/turn cancelled[^]*Ctrl-C again leaves/);
    await terminal.press("C-c");
    await terminal.shows("The session continues");
    assertEquals(await terminal.alternate(), false);
  },
});

Deno.test({
  name: "a terminal that goes away ends the chat, and the session goes on",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "still here" }]);
    await using terminal = await openChat(scenario.place, scenario.session_id);
    const pid = chatPid(scenario.session_id);
    await terminal[Symbol.asyncDispose]();
    assert(await gone(pid));
    const { data } = await scenario.turn("are you there?");
    assertEquals(data.message, "still here");
  },
});

Deno.test({
  name: "an error that nobody catches is shown on a terminal that was given back",
  ignore,
  async fn() {
    await using place = new Place();
    await using terminal = await TmuxTerminal.open(place);
    const crash = fromFileUrl(new URL("../support/terminal_crash_main.ts", import.meta.url));
    const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
    const run = [Deno.execPath(), "run", "--quiet", "-A", "--config", config, crash];
    await terminal.line(run.map(shellQuote).join(" "));
    await terminal.shows("nobody catches this");
    assertEquals(await terminal.alternate(), false);
    await terminal.line("stty -a | tr -d '\\n'");
    await terminal.shows(/ icanon [^]* echo /);
  },
});

Deno.test({
  name: "what a model or a tool sends cannot drive the terminal; NO_COLOR leaves no colours",
  ignore,
  async fn() {
    const attack = "\x1b]0;owned\x07\x1b[2J\x1b[1;1HTOP\x1b[31m \u202e\x9b2J end of it";
    await using scenario = await Scenario.begin([{ text: [attack] }, { text: "**bold**" }]);
    const { place, session_id } = scenario;
    const env = { NO_COLOR: "1" };
    await using terminal = await openChat(place, session_id, { env });
    await terminal.line("attack");
    const screen = await terminal.shows(/end\s+of\s+it/);
    assertStringIncludes(screen, "› attack");
    assertStringIncludes(screen, "\\u{1b}]0;owned\\u{7}");
    await terminal.line("go on");
    await terminal.shows(/^ {2}bold$/m);
    const styled = await terminal.styled();
    // deno-lint-ignore no-control-regex -- no colour is what is looked for
    assert(!/\x1b\[[\d;]*(?:3[0-8]|4[0-8]|9\d)[;m]/.test(styled), JSON.stringify(styled));
  },
});

Deno.test({
  name: "a terminal without another screen has a row to itself for what comes after the chat",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "an answer" }]);
    const { place, session_id } = scenario;
    await scenario.turn("hello");
    await using terminal = await TmuxTerminal.open(place, { rows: 12, cols: 100 });
    await terminal.withoutAlternate();
    await terminal.line(`TERM=screen ${svcLine("chat", "--session", session_id)}`);
    await terminal.shows(/an answer[^]*● ready/);
    await terminal.type("left here, and longer than what the shell is told at the end of the chat");
    await terminal.shows("› left here");
    await terminal.press("C-c", "C-c");
    const screen = await terminal.shows(/The session continues[^\n]*\n(?:[^\n]*\n)?[$#]\s*$/);
    assertStringIncludes(screen, "an answer");
    assert(
      new RegExp(`^The session continues.*--session\\s+${session_id}$`, "m").test(screen),
      screen,
    );
    assert(!screen.includes("● ready"), screen);
  },
});

Deno.test({
  name: "an answer in Markdown is drawn while it comes; without colours it is bold and underlined",
  ignore,
  async fn() {
    const text = "# Result\n\nSome **bold** words and a [link](https://example.com/a).\n\n" +
      "- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```ts\nconst x = 1;\n```\n\nThe end.";
    const pieces = text.match(/[^]{1,7}/g)!;
    await using scenario = await Scenario.begin([
      { text: pieces, pace_ms: 10 },
      { text: pieces, pace_ms: 10 },
    ]);
    const { place, session_id } = scenario;
    const bytes = join(place.dir, "bytes");
    {
      await using terminal = await TmuxTerminal.open(place);
      // A tmux that takes links; the sequence is only written for such a terminal.
      await terminal.line("export TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.4");
      await terminal.line(svcLine("chat", "--session", session_id));
      await terminal.shows("● ready");
      await terminal.record(bytes);
      await terminal.line("go");
      const screen = await terminal.shows(/The end\.[^]*● ready/);
      for (const part of ["  Result\n", "Some bold words and a link (https://example.com/a)."]) {
        assertStringIncludes(screen, part);
      }
      assertStringIncludes(
        screen,
        "  • one\n  • two\n\n  a │ b\n  ──┼──\n  1 │ 2\n\n  │ ts\n  │ const x = 1;",
      );
      await terminal.press("C-d");
      await terminal.shows("The session continues");
    }
    assertStringIncludes(Deno.readTextFileSync(bytes), "\x1b]8;;https://example.com/a\x1b\\");
    {
      await using terminal = await TmuxTerminal.open(place, { rows: 40 });
      await terminal.line("export TERM_PROGRAM= TMUX=");
      await terminal.record(`${bytes}-other`);
      await terminal.line(svcLine("chat", "--session", session_id));
      await terminal.shows(/a link \(https:\/\/example\.com\/a\)[^]*● ready/);
      await terminal.press("C-d");
      await terminal.shows("The session continues");
    }
    assert(!Deno.readTextFileSync(`${bytes}-other`).includes("8;;"));
    await using terminal = await openChat(place, session_id, { env: { NO_COLOR: "1" }, rows: 40 });
    await terminal.line("again");
    const screen = await terminal.shows(/again[^]*The end\.[^]*● ready/);
    assertStringIncludes(screen, "Some bold words and a link (https://example.com/a).");
    const styled = await terminal.styled();
    assertStringIncludes(styled, "\x1b[1mbold\x1b[0m");
    // deno-lint-ignore no-control-regex -- no colour is what is looked for
    assert(!/\x1b\[[\d;]*(?:3[0-8]|4[0-8]|9\d)[;m]/.test(styled), JSON.stringify(styled));
  },
});

Deno.test({
  name: "TERM=dumb and --json go line by line, without taking the screen",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "an answer" }, { text: "another" }]);
    const { place, session_id } = scenario;
    await using terminal = await TmuxTerminal.open(place, { cols: 120 });
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", session_id)}`);
    await terminal.shows("/help");
    await terminal.prompted();
    assertEquals(await terminal.alternate(), false);
    await terminal.line("hello");
    await terminal.shows("an answer");
    await terminal.prompted();
    await terminal.line("/quit");
    // Until the shell asks again, the chat may still read what is typed.
    await terminal.shows(/^[$#]$/m);
    await terminal.line("clear");
    await terminal.line(svcLine("chat", "--json", "--session", session_id));
    await terminal.shows(/^You:/m);
    await terminal.line("hello");
    await terminal.shows('"type":"turn.completed"');
    assertEquals(await terminal.alternate(), false);
  },
});
