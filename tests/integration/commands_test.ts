/** Commands from Markdown files: what is listed, what is sent, and what is refused. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import type { Json } from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

function write(it: Scenario, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(it.place.dir, name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text);
  }
}

function test(name: string, options: ScenarioOptions, fn: (it: Scenario) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using it = await Scenario.begin(() => ({ text: "Yes." }), options);
      await fn(it);
    },
  });
}

/** The last message of the person in a request. */
function lastMessage(it: Scenario): string {
  const { content } = it.server.requests.at(-1)!.body.messages
    .findLast(({ role }: Json) => role === "user");
  return typeof content === "string" ? content : content.at(-1).text;
}

const problemsOf = async (it: Scenario): Promise<Record<string, string>> => {
  const { problems } = await it.call("commands.list");
  const begin = it.place.dir.length + 1;
  return Object.fromEntries(problems.map((at: Json) => [at.path.slice(begin), at.message]));
};

const REVIEW = `---
description: Reviews a branch
argument-hint: [branch] [focus]
model: other
---

Review $1, mind $2 ($ARGUMENTS), not $10. !\`touch canary\`
`;

test("/name sends the file's text with its arguments, and nothing of it is run", {}, async (it) => {
  write(it, { "project/.agents/commands/review.md": REVIEW });
  const { session_id } = it;
  const once = ["chat", "--session", session_id, "-p"];
  const said = await it.place.svc([...once, "/review main 'two $1 words'"]);
  assertEquals(said, { code: 0, stdout: "Yes.\n", stderr: "" });
  const text = "Review main, mind two $1 words (main 'two $1 words'), not $10. !`touch canary`";
  assert(lastMessage(it).endsWith(text), lastMessage(it));
  assert([...Deno.readDirSync(it.workdir)].every(({ name }) => name !== "canary"));

  await it.call("tui.press_key", { text: "/help" });
  await it.call("tui.press_key", { key: "Enter" });
  await until(async () => {
    const { view } = await it.call("tui.snapshot", { cols: 100, rows: 40 });
    return view.includes("/review [branch] [focus]   Reviews a branch");
  }, "the help shows the command");
  await it.call("tui.press_key", { key: "escape" });
  await it.call("tui.press_key", { text: "/review dev" });
  await it.call("tui.press_key", { key: "Enter" });
  await until(() => lastMessage(it).includes("Review dev, mind  (dev)"), "the text is sent");

  const mistaken = await it.place.svc([...once, "/reveiw main"]);
  assertEquals(mistaken.code, 1);
  assertStringIncludes(mistaken.stderr, "unknown command /reveiw");
  assertStringIncludes(mistaken.stderr, "did you mean /review?");
  const asked = it.server.requests.length;
  for (const sent of ["/etc/hosts is what?", "/index.html?", " /reveiw main", "/ is the root"]) {
    await it.call("commands.expand", { text: sent }).then(({ text }) => assertEquals(text, sent));
  }
  for (const word of ["/unheard of", "/clear", "/compact now"]) {
    const refused = await it.place.svc([...once, word]);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, word.split(" ")[0]);
    assertStringIncludes(refused.stderr, "start it with a space");
    // In the terminal it is told, and the text can be sent after all.
    await it.call("tui.press_key", { text: word });
    await it.call("tui.press_key", { key: "Enter" });
    await until(async () => {
      const { view } = await it.call("tui.snapshot", { cols: 100, rows: 40 });
      const told = view.replace(/\s+/g, " ");
      return told.includes("start it with a space") && told.includes(`› ${word}`);
    }, "the terminal tells of it");
    await it.call("tui.press_key", { key: "ctrl-u" });
  }
  assertEquals(it.server.requests.length, asked);
});

test("the project wins over home, and what cannot be used is told", {}, async (it) => {
  const big = "x".repeat(70_000);
  write(it, {
    "home/commands/one.md": "From home $ARGUMENTS",
    "home/commands/two.md": "# Two\n\nFrom home.",
    "home/commands/git/squash.md": "Squash.\u202e",
    "project/.agents/commands/one.md": "From the project.",
    "project/.claude/commands/one.md": "From elsewhere in the project.",
    "project/.claude/commands/three.md": "---\r\ndescription: 'Tab\there \u202e'\r\n---\r\nThree",
    "project/.claude/commands/notes.txt": "not a command",
    "project/.claude/commands/compact.md": "x",
    "project/.claude/commands/bad.md": "---\ndescription: a: b\n---\nx",
    "project/.claude/commands/list.md": "---\n- a\n---\nx",
    "project/.claude/commands/number.md": "---\ndescription: 7\n---\nx",
    "project/.claude/commands/open.md": "---\ndescription: x\n",
    "project/.claude/commands/empty.md": "---\ndescription: x\n---\n",
    "project/.claude/commands/big.md": big,
    "project/.claude/commands/a b.md": "x",
    "elsewhere/secret.md": "a secret",
    "elsewhere/more/secret.md": "a secret",
  });
  const commands = join(it.workdir, ".claude/commands");
  Deno.symlinkSync(join(it.place.dir, "elsewhere/secret.md"), join(commands, "link.md"));
  Deno.symlinkSync(join(it.place.dir, "elsewhere/more"), join(commands, "more"));
  Deno.symlinkSync(it.place.home, join(it.place.home, "commands/home"));
  new Deno.Command("mkfifo", { args: [join(commands, "fifo.md")] }).outputSync();
  const listed = await it.call("commands.list");
  assertEquals(
    listed.commands.map((at: Json) => [at.name, at.description, at.source]),
    [
      ["bad", "a: b", "project"],
      ["git:squash", "Squash.\\u{202e}", "home"],
      ["number", "7", "project"],
      ["one", "From the project.", "project"],
      ["three", "Tab\\u{9}here \\u{202e}", "project"],
      ["two", "Two", "home"],
    ],
  );
  assert(!JSON.stringify(listed).includes("a secret"));
  const found = await problemsOf(it);
  const of = (name: string) => found[`project/.claude/commands/${name}`];
  assertStringIncludes(of("one.md"), `/one is already defined by ${it.workdir}/.agents/commands/`);
  assertStringIncludes(found["home/commands/one.md"], "/one is already defined by");
  assertStringIncludes(of("compact.md"), "svc chat has its own /compact");
  assertStringIncludes(of("list.md"), "its front matter must have lines such as");
  assertStringIncludes(of("open.md"), "has no closing line");
  assertStringIncludes(of("empty.md"), "has no text to send");
  assertStringIncludes(of("big.md"), "has more than 65536 bytes");
  assertStringIncludes(of("a b.md"), "a command's name has letters");
  assertStringIncludes(of("link.md"), "leads outside");
  assertStringIncludes(of("more"), "leads outside");
  assertStringIncludes(of("fifo.md"), "is not a regular file");
  assertStringIncludes(found["home/commands/home"], "leads outside");
  assertEquals(Object.keys(found).length, 12);
  const expand = async (text: string) => (await it.call("commands.expand", { text })).text;
  assertEquals(await expand("/one now"), "From the project.\n\nnow");
  assertEquals(await expand("/git:squash"), "Squash.\u202e");
  await assertRejects(() => expand("/thre"), SvcError, "unknown command /thre");
});

test("of a thousand files the first 200 are used", {}, async (it) => {
  const names = Array.from({ length: 1_000 }, (_, n) => `c${String(n).padStart(4, "0")}`);
  write(
    it,
    Object.fromEntries(names.map((name) => [`project/.agents/commands/${name}.md`, name])),
  );
  const { commands } = await it.call("commands.list");
  assertEquals(commands.map(({ name }: Json) => name), names.slice(0, 200));
  assertEquals(await problemsOf(it), {
    "project/.agents/commands": "only the first 200 command files are used",
  });
});

test(
  "an untrusted session has no commands",
  { start: { trust: "untrusted" } },
  async (it) => {
    write(it, { "project/.agents/commands/one.md": "One.", "home/commands/two.md": "Two." });
    assertEquals(await it.call("commands.list"), { commands: [], problems: [] });
    assertEquals(await it.call("commands.expand", { text: "/one" }), { text: "/one" });
    const { workdir, model } = it;
    const session_id = await it.client.session({ workdir, model });
    const { commands } = await it.client.rpc.call("commands.list", { session_id });
    assertEquals(commands.length, 2, "the control");
  },
);

Deno.test({
  name: "svc chat on a plain terminal lists commands, sends them, and suggests the nearest",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Reviewed." }));
    write(it, {
      "project/.agents/commands/review.md": REVIEW,
      "project/.agents/commands/kill.md": "x",
    });
    await using terminal = await TmuxTerminal.open(it.place, { cols: 150 });
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("/help");
    await terminal.prompted();
    await terminal.line("/help");
    await terminal.shows(/\/review \[branch\] \[focus\] +Reviews a branch/);
    await terminal.shows(/not used: .*kill\.md: svc chat has its own \/kill/);
    await terminal.prompted();
    await terminal.line("/reveiw main");
    await terminal.shows(/unknown command \/reveiw.*did you mean \/review\?/);
    await terminal.prompted();
    await terminal.line("/review main");
    await terminal.shows(/Reviewed\./);
    assert(lastMessage(it).includes("Review main, mind  (main)"), lastMessage(it));
    assertEquals(it.server.requests.length, 1);
  },
});

test("a directory has the commands of a session that begins in it", {}, async (it) => {
  write(it, { "other/.agents/commands/review.md": REVIEW, "other/.agents/commands/a b.md": "x" });
  const workdir = join(it.place.dir, "other");
  const ask = (name: string, params: Json) => it.client.rpc.call(name, params);
  const { session_id } = await it.client.rpc.call("session.start", { workdir });
  const listed = await ask("commands.list", { workdir });
  assertEquals(listed.commands.map(({ name }: Json) => name), ["review"]);
  assertEquals(listed.problems.length, 1);
  assertEquals(listed, await ask("commands.list", { session_id }));
  const line = { text: "/review main" };
  const expanded = await ask("commands.expand", { workdir, ...line });
  assertEquals(expanded, await ask("commands.expand", { session_id, ...line }));
  assertEquals(expanded.command, "review");
  await assertRejects(
    () => ask("commands.expand", { workdir, text: "/reviews" }),
    SvcError,
    "unknown command /reviews",
  );
  for (const at of [{}, { workdir, session_id }]) {
    await assertRejects(() => ask("commands.list", at), SvcError, "either session_id or workdir");
  }
  await assertRejects(() => ask("commands.list", { workdir: "other" }), SvcError, "not absolute");
});
