/** Menus, lists and the mouse of `svc chat`, as a person uses them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc, Place, svcLine } from "../support/svc.ts";
import { Scenario, until } from "../support/scripted.ts";
import { has_tmux, type TerminalOptions, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;

async function openChat(
  place: Place,
  args: readonly string[],
  options: TerminalOptions = {},
): Promise<TmuxTerminal> {
  const terminal = await TmuxTerminal.open(place, { cols: 100, rows: 30, ...options });
  await terminal.line(svcLine("chat", ...args));
  await terminal.shows(/● (ready|working|waits)/);
  return terminal;
}

/** The files that a turn has made. */
function made(workdir: string): string[] {
  return [...Deno.readDirSync(workdir)].map(({ name }) => name).filter((it) => it !== ".svc");
}

/** Presses of the left button at a cell, from 1, as terminals report them (SGR 1006). */
function click(col: number, row: number): string {
  return `\x1b[<0;${col};${row}M\x1b[<0;${col};${row}m`;
}

Deno.test({
  name: "/ and @ offer commands and files: chosen by key, closed by Esc, taken by Enter and Tab",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([{ text: "seen" }]);
    const { place, session_id, workdir } = scenario;
    place.mkdir("project/src");
    Deno.writeTextFileSync(join(workdir, "src", "worker.ts"), "");
    Deno.writeTextFileSync(join(workdir, "src", "with blank.ts"), "");
    await using terminal = await openChat(place, ["--session", session_id]);
    await terminal.type("/renam");
    await terminal.shows(/▸ \/rename TITLE +change the title/);
    await terminal.press("Tab");
    await terminal.line("another title");
    await terminal.shows("another title");
    // A command without words runs as it is chosen.
    await terminal.type("/cos");
    await terminal.shows("▸ /cost");
    await terminal.press("Enter");
    await terminal.shows(/so far/);
    await terminal.type("look at @wit");
    await terminal.shows("▸ src/with blank.ts");
    await terminal.press("Enter");
    await terminal.shows('› look at @"src/with blank.ts"');
    await terminal.type("and @work");
    await terminal.shows("▸ src/worker.ts");
    await terminal.press("Escape");
    await until(async () => !(await terminal.text()).includes("▸"), "the menu is closed");
    await terminal.type("er");
    await terminal.shows(/and @worker$/m);
    assert(!(await terminal.text()).includes("▸"));
    await terminal.press("Enter");
    await terminal.shows("seen");
    assertStringIncludes(JSON.stringify(scenario.asked.at(-1)), "with blank.ts");
  },
});

Deno.test({
  name: "the palette changes the approval mode, and models and efforts are lists",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([]);
    const { place, session_id, client } = scenario;
    await using terminal = await openChat(place, ["--session", session_id]);
    await terminal.press("C-p");
    await terminal.shows(/── What to do · \d+ · Enter chooses/);
    await terminal.type("approval");
    await terminal.shows("▸ Change what needs your approval");
    await terminal.press("Enter");
    await terminal.shows(/▸ auto +now/);
    await terminal.press("Down", "Down");
    await terminal.shows(/▸ ask/);
    await terminal.press("Enter");
    await until(async () => {
      const { approval } = await client.rpc.call("session.get", { session_id }) as {
        approval: string;
      };
      return approval === "ask";
    }, "the session asks");
    await terminal.line("/model");
    await terminal.shows(/▸ local\/scripted/);
    await terminal.type("nothing like it");
    await terminal.shows("nothing fits");
    await terminal.press("C-c");
    await terminal.shows("● ready");
    // Ctrl-C closed the list, and was not the first of two that leave.
    assert(!(await terminal.text()).includes("again leaves"));
  },
});

Deno.test({
  name: "going back: Esc twice lists what was said with its changes; the message comes back",
  ignore,
  async fn() {
    const write = (name: string) => ({
      calls: [{ name: "write_file", args: { path: name, content: "one\ntwo\n" } }],
    });
    await using scenario = await Scenario.begin([
      write("a.txt"),
      { text: "done a" },
      write("b.txt"),
      { text: "done b" },
    ]);
    const { place, session_id, workdir } = scenario;
    await using terminal = await openChat(place, ["--session", session_id]);
    await terminal.line("make a");
    await terminal.shows("done a");
    await terminal.shows("● ready");
    await terminal.line("make b");
    await terminal.shows("done b");
    await terminal.shows("● ready");
    await terminal.line("/changes");
    await terminal.shows(/▸ a\.txt +added · \+2 −0\n +b\.txt/);
    await terminal.press("Enter");
    await terminal.shows(/── changes of a\.txt[^]*2 \+ two/);
    await terminal.press("Escape");
    await terminal.press("Escape");
    await terminal.shows("Esc again goes back");
    await terminal.press("Escape");
    await terminal.shows(/▸ make b +\+2 −0, 1 file\n +make a +\+2 −0, 1 file/);
    await terminal.press("Down", "Enter");
    await terminal.shows(/▸ Files and conversation +2 deleted/);
    await terminal.press("Enter");
    await terminal.shows(/^› make a\n● ready/m);
    assertEquals(made(workdir), []);
    await terminal.press("C-u");
    await terminal.line("/redo");
    await until(() => made(workdir).length === 2, "the files are back");
  },
});

Deno.test({
  name: "sessions in one terminal: found by what was said, with a preview; no key is lost",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin(
      ({ messages }) => ({ text: `heard ${messages.length}` }),
    );
    const { place, client, workdir, model } = scenario;
    const other = await client.session({ workdir, model, approval: "auto" });
    await client.rpc.call("session.configure", { session_id: other, title: "about bees" });
    await client.rpc.call("session.send", { session_id: other, text: "tell me of pollination" });
    await using terminal = await openChat(place, ["--session", scenario.session_id]);
    assertMatch(await terminal.title(), /svc$/);
    await terminal.line("/sessions");
    await terminal.shows(/── Sessions · 2/);
    await terminal.type("pollinat");
    await terminal.shows(/▸ about bees +“tell me of pollination”/);
    await terminal.shows("› tell me of pollination\n  heard");
    await terminal.press("Enter");
    await terminal.type("typed at once");
    await terminal.shows(/› tell me of pollination[^]*› typed at once/);
    await until(async () => (await terminal.title()) === "about bees · svc", "the window is named");
    await terminal.press("C-u", "C-d");
    await terminal.shows(`To return: svc chat --session ${other}`);
    // From any directory, the list comes first.
    await terminal.line(svcLine("chat", "-r"));
    await terminal.shows(/── Sessions · 2/);
    await terminal.press("Escape");
    await terminal.shows(/^›\n● ready/m);
    await terminal.press("C-d");
    await terminal.shows("The session continues");
    // Line by line, it is a number.
    await terminal.line(`clear; TERM=dumb ${svcLine("chat", "-r")}`);
    await terminal.shows(/1 +about bees/);
    await terminal.shows("Number:");
    await terminal.line("1");
    await terminal.prompted();
  },
});

Deno.test({
  name:
    "a session that is gone is told, and the one on the screen stays; typed text stands before drafts",
  ignore,
  async fn() {
    await using scenario = await Scenario.begin([]);
    const { place, client, workdir, model } = scenario;
    const call = (method: string, params: Record<string, unknown>) =>
      client.rpc.call(method, params);
    const begin = async (title: string) => {
      const session_id = await client.session({ workdir, model, approval: "auto" });
      await call("session.configure", { session_id, title });
      return session_id;
    };
    const gone = await begin("soon gone");
    const drafted = await begin("with a draft");
    await call("draft.set", { session_id: drafted, text: "kept before " });
    await using terminal = await openChat(place, ["--session", scenario.session_id]);
    await terminal.line("/sessions");
    await terminal.type("soon gone");
    await terminal.shows("▸ soon gone");
    await call("session.kill", { session_id: gone });
    await call("session.delete", { session_id: gone });
    await terminal.press("Enter");
    await terminal.shows("there is no session");
    await terminal.shows("● ready");
    await terminal.line("/sessions");
    await terminal.type("with a draft");
    await terminal.shows("▸ with a draft");
    await terminal.type("\rtyped at once");
    await terminal.shows(/an earlier draft waits: Up brings it[^]*› typed at once\n/);
    const draft = async () =>
      (await call("draft.get", { session_id: drafted }) as { text: string }).text;
    await until(async () => await draft() === "typed at once", "the draft");
    // What was not brought back is not lost either.
    await terminal.press("C-e", "C-u");
    await until(async () => await draft() === "kept before ", "the earlier draft");
    await terminal.press("Up");
    await terminal.shows("› kept before");
    await terminal.press("C-u");
    await until(async () => await draft() === "", "no draft");
    // Of a session that was deleted meanwhile there are still ways to others.
    await call("session.kill", { session_id: drafted });
    await terminal.shows("● ended");
    await call("session.delete", { session_id: drafted });
    await terminal.press("C-p");
    await terminal.shows("Go to another session");
  },
});

Deno.test({
  name: "the mouse: the wheel scrolls, a click picks an answer, a drag copies",
  ignore,
  async fn() {
    const lines = Array.from({ length: 60 }, (_, n) => `row ${n}\n`).join("");
    await using scenario = await Scenario.begin([
      { text: lines },
      { calls: [{ name: "run_command", args: { command: "echo hi" } }] },
      { text: "ran" },
    ], { start: { approval: "ask" } });
    const { place, session_id } = scenario;
    await using terminal = await openChat(place, ["--session", session_id]);
    await terminal.clipboard();
    await terminal.line("count");
    await terminal.shows("row 59");
    await terminal.type("\x1b[<64;5;5M".repeat(4));
    const up = await terminal.shows("more below");
    assert(!up.includes("row 59"));
    await terminal.type("\x1b[<65;5;5M".repeat(9));
    const screen = await terminal.shows("row 59");
    const row = screen.split("\n").findIndex((text) => text.includes("row 58")) + 1;
    await terminal.type(`\x1b[<0;3;${row}M\x1b[<32;8;${row + 1}M\x1b[<0;8;${row + 1}m`);
    await terminal.shows("13 characters copied");
    assertEquals(await terminal.clipboard(), "row 58\nrow 59");
    await terminal.line("run it");
    const asked = await terminal.shows("1 y allow");
    const answer = asked.split("\n").findIndex((text) => text.includes("1 y allow")) + 1;
    await terminal.type(click(5, answer));
    await terminal.shows("allow  Enter confirms");
    await terminal.press("Enter");
    await terminal.shows("ran");
    // What it had switched on is off again: the shell gets no reports.
    await terminal.press("C-d");
    await terminal.shows("The session continues");
    assertEquals(await terminal.alternate(), false);
  },
});

Deno.test({
  name:
    "the next chat leaves the mouse to the terminal, and nothing moves, where a person wants that",
  ignore,
  async fn() {
    const slow = Array.from({ length: 80 }, (_, n) => `word${n} `);
    await using scenario = await Scenario.begin(() => ({ text: slow, pace_ms: 50 }));
    const { place, session_id, client } = scenario;
    const look = async (mouse: boolean, mark: RegExp) => {
      await using terminal = await openChat(place, ["--session", session_id]);
      await until(async () => await terminal.mouse() === mouse, `the mouse: ${mouse}`);
      await terminal.line("go");
      await terminal.shows(mark);
      await terminal.press("Escape");
      await terminal.shows("● ready");
      await terminal.press("C-u", "C-d");
      await terminal.shows("The session continues");
      assertEquals(await terminal.mouse(), false);
    };
    await look(true, /── [⠀-⣿] \d+ s/);
    const changes = { "terminal.mouse": false, "terminal.reduced_motion": true };
    await client.rpc.call("daemon.set_config", { changes });
    await look(false, /── • \d+ s/);
  },
});

Deno.test({
  name: "without a model: 1, 2 and 3 offer the ways to one; a key is shown nowhere",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    const daemon = await place.serve();
    await using terminal = await openChat(place, [workdir]);
    await terminal.shows("No model is set up yet. Press 1, 2 or 3:");
    await terminal.type("2");
    await terminal.shows("none was found");
    await terminal.type("1");
    await terminal.shows(/── Ways to a model/);
    await terminal.type("openai: p");
    await terminal.shows("▸ openai: paste an API key");
    await terminal.press("Enter");
    await terminal.shows("API key for openai");
    await terminal.type("sk-secret-of-mine");
    await terminal.shows("› •••••••••••••••••\n");
    const client = await daemon.rpc();
    const { sessions } = await client.rpc.call("session.list", {}) as {
      sessions: { id: string }[];
    };
    const model = await client.rpc.call("tui.get_model", { session_id: sessions[0].id });
    assertStringIncludes(JSON.stringify(model), "API key for openai");
    assert(!JSON.stringify(model).includes("secret-of-mine"));
    await terminal.press("Escape");
    await terminal.shows("Press 1, 2 or 3:");
    await terminal.type("3");
    await terminal.shows("This is builtin/toolbelt");
    await terminal.line("ls");
    await terminal.shows(/└ .*empty/);
  },
});
