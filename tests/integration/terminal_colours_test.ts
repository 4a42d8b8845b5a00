/** Colours of `svc chat` in a real terminal: themes, and those that commands print. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { Scenario, until } from "../support/scripted.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;

/** Output that would take the terminal over, hide text, and some that is only coloured. */
const HOSTILE = String.raw`printf '\033]0;owned\007\033]52;c;aGk=\007\033[2J\033[1;1H'
printf '\033[8mconcealed\033[0m \033[30;40msame\033[0m \033[31mred\033[0m \033[1;32mgood\033[0m\n'
printf '\033[33m10%%\033[0m\r\033[33m99%%\033[0m\n'
until [ -e go ]; do sleep 0.05; done`;

/** The codes of a look at a text, as tmux tells them. */
const shownAs = (codes: string, text: string) =>
  new RegExp(`\x1b\\[(?:\\d+;)*${codes}m(?:\x1b\\[49m)?${text}`);

Deno.test({
  name:
    "colours of commands reach the person, and nothing else of what they print; models get none",
  ignore,
  async fn() {
    const run = { calls: [{ name: "run_command", args: { command: HOSTILE } }] };
    await using it = await Scenario.begin([run, { text: "Done." }, { text: "Again." }], {
      start: { approval: "auto" },
    });
    const bytes = join(it.place.dir, "bytes");
    const open = async () => {
      const terminal = await TmuxTerminal.open(it.place, { cols: 90 });
      await terminal.record(bytes);
      await terminal.line(svcLine("chat", "--session", it.session_id));
      await terminal.shows("● ready");
      return terminal;
    };
    const coloured = async (terminal: TmuxTerminal, above = "› go") => {
      const screen = await terminal.shows(/concealed same red good\n\s*99%/);
      assertStringIncludes(screen, above);
      const styled = await terminal.styled();
      assert(shownAs("31", "red").test(styled), JSON.stringify(styled));
      assert(shownAs("32", "good").test(styled), JSON.stringify(styled));
    };
    {
      await using terminal = await open();
      await terminal.line("go");
      // In its lane while it runs, also what came before there was one.
      await terminal.shows(/2 ● run printf/);
      await terminal.type("2");
      await terminal.shows("── Esc goes back · lane running");
      await coloured(terminal, "");
      await terminal.press("Escape");
      Deno.writeTextFileSync(join(it.workdir, "go"), "");
      await terminal.shows(/Done\.[^]*● ready/);
      await coloured(terminal);
      await terminal.press("C-d");
      await terminal.shows("The session continues");
    }
    const said = JSON.stringify(it.asked.at(-1)!.filter(({ role }) => role === "tool"));
    assertStringIncludes(said, "concealed same red good");
    // deno-lint-ignore no-control-regex -- it is what must not be there
    assert(!/\x1b|u001b|\[31m/.test(said), said);
    const { events } = await it.call("session.history");
    const journal = JSON.stringify(
      events.filter(({ type }: { type: string }) => type === "session.tool_completed"),
    );
    assert(!/u001b|owned|aGk=/.test(journal), journal);
    // After a restart, and in another turn.
    await it.daemon.stop();
    it.daemon = await it.place.serve();
    {
      await using terminal = await open();
      await coloured(terminal);
      await terminal.line("once more");
      await terminal.shows(/Again\.[^]*● ready/);
      await coloured(terminal);
    }
    const written = Deno.readTextFileSync(bytes);
    for (const part of ["\x1b]0;owned", "\x1b]52;", "\x1b[8m", "\x1b[30"]) {
      assert(!written.includes(part));
    }
  },
});

Deno.test({
  name:
    "/theme chooses the colours, also for the next chat; auto follows the terminal's background",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "Some `code` here." }]);
    await it.turn("hello");
    const open = async () => {
      const terminal = await TmuxTerminal.open(it.place);
      await terminal.line("export COLORTERM=truecolor");
      await terminal.line(svcLine("chat", "--session", it.session_id));
      await terminal.shows(/Some code here[^]*● ready/);
      return terminal;
    };
    const has = (terminal: TmuxTerminal, codes: string) =>
      until(async () => shownAs(codes, "code").test(await terminal.styled()), `code in ${codes}`);
    const DARK = "38;2;143;211;255";
    const LIGHT = "38;2;0;78;154";
    {
      await using terminal = await open();
      // As a terminal answers, late and in two pieces.
      await terminal.type("\x1b]11;rgb:ffff/ff");
      await terminal.type("ff/ffff\x1b\\");
      await has(terminal, LIGHT);
      await terminal.type("\x1b]11;rgb:0000/0000/0000\x07");
      await has(terminal, DARK);
      assert(!(await terminal.text()).includes("rgb:"));
      await terminal.line("/theme light");
      await has(terminal, LIGHT);
      await terminal.line("/theme pink");
      await terminal.shows("there is no theme");
      await terminal.press("C-d");
      await terminal.shows("The session continues");
    }
    await using terminal = await open();
    await has(terminal, LIGHT);
    await terminal.line("/theme");
    await terminal.shows(/▸ light +now/);
    await terminal.press("Escape");
    await terminal.shows(/^›\n● ready/m);
    await terminal.line("/theme none");
    await terminal.shows("theme: none");
    await until(
      // deno-lint-ignore no-control-regex -- no colour is what is looked for
      async () => !/\x1b\[[\d;]*(?:3[0-8]|4[0-8]|9\d)[;m]/.test(await terminal.styled()),
      "a screen without colours",
    );
    assertEquals(
      Deno.readTextFileSync(join(it.place.env.SVC_HOME, "daemon.toml")).includes('theme = "none"'),
      true,
    );
  },
});
