/** Writing a message in a real terminal: editor, drafts, pasted text, files and earlier messages. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { tinyPng } from "../support/media.ts";
import { processesWith, Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, type TerminalOptions, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;

/** @param before what stands before the command, for variables that a shell sets itself */
async function openChat(
  it: Scenario,
  options: TerminalOptions = {},
  before = "",
): Promise<TmuxTerminal> {
  const terminal = await TmuxTerminal.open(it.place, options);
  await terminal.line(`${before}${svcLine("chat", "--session", it.session_id)}`);
  await terminal.shows(/● (ready|working)/);
  return terminal;
}

/** Writes a program. @returns its path */
function program(it: Scenario, name: string, script: string): string {
  const dir = it.place.mkdir("programs");
  const path = join(dir, name);
  Deno.writeTextFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

Deno.test({
  name: "Ctrl-G edits the message in the person's editor, which gets every key",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "ok" }]);
    const path = program(
      it,
      "my editor",
      'stat -c "%a %n" "$2" > seen; echo "args $1"; read line; printf "%s\\n%s\\n" "$line" more >> "$2"',
    );
    const env = { VISUAL: `'${path}' --wait`, EDITOR: "/nowhere" };
    await using terminal = await openChat(it, { env });
    await terminal.type("begun ");
    await terminal.press("C-g");
    await terminal.shows("args --wait");
    assertEquals(await terminal.alternate(), false);
    await terminal.line("xyz");
    await terminal.shows(/› begun xyz\n\s+more\n● ready/);
    assertEquals(await terminal.alternate(), true);
    const [mode, file] = Deno.readTextFileSync(join(it.place.dir, "seen")).trim().split(" ");
    assertEquals([mode, file.endsWith(".md")], ["600", true]);
    assert(!(await Deno.stat(file).then(() => true, () => false)));
    await terminal.press("C-_");
    await terminal.shows(/› begun\n● ready/);
    await terminal.press("M-_", "Enter");
    await terminal.shows(/ok[^]*● ready/);
    assertStringIncludes(JSON.stringify(it.asked.at(-1)), String.raw`begun xyz\nmore`);
  },
});

Deno.test({
  name: "an editor that fails, is missing or leaves no text has the message stay, and says why",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    const fails = program(it, "fails", "exit 3");
    const removes = program(it, "removes", 'rm "$1"');
    const removes_all = program(it, "removes_all", 'rm -r "$(dirname "$1")"');
    const binary = program(it, "binary", "printf '\\377\\376' > \"$1\"");
    const long = program(it, "long", 'head -c 1200000 /dev/zero | tr "\\0" x > "$1"');
    for (
      const [editor, says] of [
        [fails, "ended with code 3"],
        ["/nowhere/editor", "ended with code 127"],
        [removes, "the message stays"],
        [removes_all, "the message stays"],
        [binary, "the message stays"],
        [long, "at most 1,048,576 characters"],
      ]
    ) {
      await using terminal = await openChat(it, { cols: 160, env: { VISUAL: editor } });
      await terminal.press("C-e", "C-u");
      await terminal.type("keep this");
      await terminal.press("C-x", "C-e");
      await terminal.shows(says);
      await terminal.shows("› keep this");
    }
  },
});

Deno.test({
  name: "two Ctrl-G at once open one editor, which ends with the chat",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    const path = program(it, "once", 'echo "$1" >> runs; read line; echo more >> "$1"');
    await using terminal = await openChat(it, { env: { VISUAL: path } });
    await terminal.type("text");
    await terminal.shows("› text");
    await terminal.type("\x07\x07");
    const runs = () => Deno.readTextFileSync(join(it.place.dir, "runs")).trim().split("\n");
    await until(async () => !(await terminal.alternate()), "the editor has the terminal");
    await terminal.press("Enter");
    await terminal.shows(/› textmore\n● ready/);
    assertEquals(runs().length, 1);
    const stays = program(it, "stays", "exec sleep 9876");
    await terminal.press("C-u", "C-d");
    await terminal.shows("The session continues");
    await terminal.line(`clear; VISUAL=${stays} ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("● ready");
    await terminal.press("C-g");
    await until(() => processesWith("sleep 9876").length === 1, "the editor");
    for (const pid of processesWith(`chat --session ${it.session_id}`)) Deno.kill(pid, "SIGTERM");
    await until(() => processesWith("sleep 9876").length === 0, "the editor has ended");
  },
});

Deno.test({
  name: "a question that comes while the editor is open does not count as seen",
  ignore,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      {
        text: ["x"],
        hang_after: 1,
        go_on,
        calls: [{ name: "run_command", args: { command: "rm y" } }],
      },
      { text: "done" },
    ], { start: { approval: "ask" } });
    const path = program(it, "waits", "echo open; read line");
    await using terminal = await openChat(it, { env: { VISUAL: path } });
    await terminal.line("go");
    await terminal.shows("● working");
    await terminal.press("C-g");
    await terminal.shows("open");
    resolve();
    await it.event("approval.requested");
    // Longer than a question on the screen needs to be answered by keys.
    await delay(2_000);
    assert(!(await terminal.text()).includes("allow"));
    const armed = await it.call("tui.get_model", { jsonpath: "$.approvals[*].armed" });
    assertEquals(armed.matches, [false]);
    await terminal.press("Enter");
    await terminal.shows("y allow");
    await terminal.type("3");
    await terminal.press("Enter");
    await terminal.shows(/done[^]*● ready/);
  },
});

Deno.test({
  name: "what a terminal leaves unsent is there in the next one and for pages, also after a kill",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "ok" }]);
    const kept = async () => (await it.call("draft.get")).text;
    {
      await using terminal = await openChat(it);
      await terminal.type("a draft");
      await until(async () => await kept() === "a draft", "the draft is kept");
      await terminal.type(", longer");
      await terminal.shows("› a draft, longer");
      const [pid] = processesWith(`chat --session ${it.session_id}`);
      Deno.kill(pid, "SIGHUP");
      await until(() => processesWith(`chat --session ${it.session_id}`).length === 0, "the end");
    }
    assertEquals(await kept(), "a draft, longer");
    await using terminal = await openChat(it);
    await terminal.shows("› a draft, longer");
    await it.call("draft.set", { text: "from a page", writer: "page" });
    await terminal.shows(/› from a page\n/);
    await terminal.press("C-_");
    await terminal.shows("› a draft, longer");
    await it.restart();
    await terminal.shows(/› a draft, longer\n● ready/);
    await until(async () => await kept() === "a draft, longer", "the draft is kept again");
    await terminal.press("Enter");
    await terminal.shows(/ok[^]*● ready/);
    await until(async () => await kept() === "", "a message that was sent is no draft");
  },
});

Deno.test({
  name: "line by line, a line left unsent is there again, and a draft of several lines is kept",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "fine" }));
    const kept = async () => (await it.call("draft.get")).text;
    const begin = async () => {
      const terminal = await TmuxTerminal.open(it.place);
      await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
      return terminal;
    };
    {
      await using terminal = await begin();
      await terminal.prompted();
      await terminal.type("left here");
      await until(async () => await kept() === "left here", "the draft is kept");
    }
    await using terminal = await begin();
    await terminal.shows("left here");
    await terminal.line(", and sent");
    await terminal.shows("fine");
    await until(async () => await kept() === "", "it is sent");
    assertEquals(it.client.of("user.message")[0].data.text, "left here, and sent");
    await terminal.prompted();
    await terminal.type("left");
    await terminal.press("C-r");
    await until(async () => await kept() === "left here, and sent", "the older message");
    await terminal.press("Enter");
    await until(() => it.client.of("user.message").length === 2, "it is sent again");
    await until(async () => await kept() === "", "it is sent");
    await it.call("draft.set", { text: "two\nlines" });
    await using other = await begin();
    await other.prompted();
    await other.line("/quit");
    await other.shows(/^[$#]$/m);
    assertEquals(await kept(), "two\nlines");
  },
});

Deno.test({
  name: "the keys of vi are a setting of the person, and the status says the mode",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "ok" }]);
    {
      await using terminal = await openChat(it, { cols: 120 });
      await terminal.line("/vi on");
      await terminal.shows(/vi keys: on[^]*● ready · insert/);
      await terminal.type("one two three");
      await terminal.press("Escape");
      await terminal.shows(/› one two three\n● ready · normal/);
      await terminal.type("bdwu0dwA!");
      await terminal.shows(/› two three!\n● ready · insert/);
      await terminal.press("C-c");
    }
    await using terminal = await openChat(it, { cols: 120 });
    await terminal.shows("● ready · insert");
    await terminal.line("/vi off");
    await terminal.shows(/vi keys: off[^]*● ready · \? help/);
  },
});

Deno.test({
  name: "10,000 pasted lines are one chip, which does not delay keys and is sent whole",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "ok" }), { record: false });
    const line = "x".repeat(99);
    const file = join(it.place.dir, "pasted");
    Deno.writeTextFileSync(file, Array<string>(10_000).fill(line).join("\n"));
    await using terminal = await openChat(it);
    await terminal.type("see ");
    await terminal.pasteFile(file);
    await terminal.type(" there");
    await terminal.shows("› see [Pasted text #1: 10,000 lines] there");
    await terminal.press("C-a", "Right", "Right", "Right", "Right", "Delete");
    await terminal.shows("› see  there");
    await terminal.press("C-_");
    await terminal.shows("› see [Pasted text #1: 10,000 lines] there");
    await terminal.press("Enter");
    await terminal.shows(/ok[^]*● ready/);
    await terminal.press("Up");
    await terminal.shows("› see [Pasted text #1: 10,000 lines] there");
    await terminal.press("Enter");
    await until(() => it.client.of("turn.completed").length === 2, "two turns");
    const whole = `see ${Deno.readTextFileSync(file)} there`;
    for (const { data } of it.client.of("user.message")) assert(data.text === whole);
  },
});

Deno.test({
  name: "Ctrl-R finds what was said in any session, the directory's own first",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "ok" }));
    const other = await it.client.session({
      workdir: it.place.mkdir("other"),
      model: it.model,
      approval: "auto",
    });
    await it.client.turn(other, "mend the login\nof the other project");
    await it.turn("mend the parser");
    await it.turn("mend the parser");
    await it.turn("write docs");
    await using terminal = await openChat(it);
    await terminal.type("typed before");
    await terminal.press("C-r");
    await terminal.shows(/search:\n▸ write docs\n {2}mend the parser\n {2}mend the login/);
    await terminal.type("men");
    await terminal.shows(/search: men\n▸ mend the parser\n {2}mend the login[^\n]*\n●/);
    await terminal.press("Escape");
    await terminal.shows("› typed before");
    await terminal.press("C-r");
    await terminal.type("login");
    await terminal.shows(/search: login\n▸ mend the login/);
    await terminal.press("Enter");
    await terminal.shows(/› mend the login\n +of the other project\n●/);
    await terminal.press("C-_");
    await terminal.shows("› typed before");
  },
});

Deno.test({
  name: "dropped files and the image of the clipboard are attached; what cannot be stays text",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "I see." }, { text: "Again." }]);
    const image = await tinyPng();
    const shot = join(it.place.mkdir("my shots"), "a shot.png");
    Deno.writeFileSync(shot, image);
    const fake = join(it.place.dir, "fake.png");
    Deno.writeTextFileSync(fake, "no image");
    program(it, "wl-paste", `cat '${shot}'`);
    const env = { WAYLAND_DISPLAY: "wayland-0" };
    const path = `PATH='${it.place.mkdir("programs")}':"$PATH" `;
    await using terminal = await openChat(it, { cols: 140, env }, path);
    await terminal.paste(`'${shot}'`);
    await terminal.shows("› [Image #1: a shot.png]");
    await terminal.paste(fake);
    await terminal.shows("is not a PNG, JPEG, GIF or WebP image and not a PDF");
    await terminal.shows(`[Image #1: a shot.png]${fake}`);
    await terminal.press("C-w");
    await terminal.shows(/› \[Image #1: a shot\.png\]\n/);
    await terminal.press("C-v");
    await terminal.shows("› [Image #1: a shot.png][Image #2: clipboard]");
    await terminal.paste(`file://${encodeURI(shot)}\n${shot.replaceAll(" ", "\\ ")}`);
    await terminal.shows(/\[Image #3: a shot\.png\]\n?\s*\[Image #4/);
    await terminal.press("BSpace", "BSpace", "BSpace");
    await terminal.type(" what is this?");
    await terminal.press("Enter");
    await terminal.shows(/I see\.[^]*● ready/);
    const { data } = await it.event("user.message");
    assertEquals(data.text, "[Image #1: a shot.png][Image #2: clipboard] what is this?");
    const sent = data.attachments.map((
      each: { name: string; bytes: number },
    ) => [each.name, each.bytes]);
    assertEquals(sent, [["a shot.png", image.length], ["clipboard", image.length]]);
    // Over the verbs nobody reads the person's files.
    await it.call("tui.press_key", { text: shot });
    await it.call("tui.press_key", { key: "ctrl-g" });
    await terminal.shows("only with keys in a terminal of your own");
    await terminal.shows(`› ${shot}`);
  },
});
