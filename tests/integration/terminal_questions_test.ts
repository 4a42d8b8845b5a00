/** Questions about calls in a terminal: the whole screen, line by line, and `svc ctl approvals`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { MadeCalls } from "../support/made_calls.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { Scenario, until } from "../support/scripted.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;
const ASK = { approval: "ask" };
const LINES = Array.from({ length: 40 }, (_, n) => `line ${n + 1}\n`).join("");
const FILES = { "a.txt": LINES, "b.txt": "b\n", "c.txt": "c\n" };
const PATCH = [
  "*** Begin Patch",
  "*** Update File: a.txt",
  "@@",
  " line 30",
  "-line 31",
  "+thirty-one",
  "*** Delete File: b.txt",
  "*** Add File: d.txt",
  "+new",
  "*** End Patch",
  "",
].join("\n");

/** Calls, and lines of the question about each. */
const KINDS: Record<string, { call: [string, unknown]; shows: (string | RegExp)[] }> = {
  "a command": {
    call: ["run_command", { command: "echo hi" }],
    shows: ["? allow run_command?", "run echo hi"],
  },
  "a command of several lines": {
    call: ["run_command", { command: "cat <<E\nhello\nE" }],
    shows: ["run the lines below", "│ cat <<E", "│ hello"],
  },
  "an edit": {
    call: ["edit_file", { path: "a.txt", old_text: "line 20\n", new_text: "twenty\n" }],
    shows: ["edit a.txt", "a.txt: +1 −1", "20 - line 20", "20 + twenty", "23   line 23"],
  },
  "a file that is replaced": {
    call: ["write_file", { path: "c.txt", content: "see\n" }],
    shows: ["replaces a file that is there", "c.txt: +1 −1", "1 - c", "1 + see"],
  },
  "a new file": {
    call: ["write_file", { path: "n.txt", content: "one\ntwo\n" }],
    shows: ["n.txt: new file, 2 lines", "1 + one", "2 + two"],
  },
  "a patch of several files": {
    call: ["apply_patch", { patch: PATCH }],
    shows: [
      ...["deletes b.txt", "a.txt: +1 −1", "31 - line 31", "31 + thirty-one"],
      ...["d.txt: new file, 1 line", "1 + new", "b.txt: deleted", "- b"],
    ],
  },
  "an address": {
    call: ["fetch_url", { url: "http://127.0.0.1:1/a?b=c" }],
    shows: ["fetch http://127.0.0.1:1/a?b=c", "the server there sees the whole address"],
  },
};

/** Reads all of a question, page by page. @returns its text, without breaks of long lines */
async function readAll(terminal: TmuxTerminal): Promise<string> {
  await terminal.shows("? allow");
  let screen = await terminal.shows(/y allow|shows all/);
  if (/y allow/.test(screen)) return joined(screen);
  await terminal.type("v");
  let all = await terminal.shows("full request");
  for (let page = 0; page < 30 && !/y allow/.test(screen); page++) {
    await terminal.press("PPage", "NPage", "NPage");
    screen = await terminal.text();
    all += screen;
  }
  return joined(all);
}

/** Joins rows of one line. */
function joined(screen: string): string {
  return screen.replace(/\n↳ /g, "");
}

for (const [cols, rows] of [[120, 36], [60, 20], [20, 14]]) {
  Deno.test({
    name: `questions on a screen of ${cols} by ${rows}: what, where and the difference`,
    ignore,
    async fn(t) {
      await using calls = await MadeCalls.begin();
      const workdir = await calls.in("w", FILES, ASK);
      const { scenario } = calls;
      await using terminal = await TmuxTerminal.open(scenario.place, { cols, rows });
      await terminal.line(svcLine("chat", "--session", scenario.session_id));
      await terminal.shows(/● ready/);
      for (const [kind, { call, shows }] of Object.entries(KINDS)) {
        await t.step(kind, async () => {
          await terminal.line(calls.message(call));
          const seen = await readAll(terminal);
          if (cols >= 60) {
            for (const part of [...shows, `in ${workdir}`]) assertStringIncludes(seen, `${part}`);
          }
          assert(!seen.includes("old_text") && !seen.includes("*** Begin"), seen);
          // Answers are on the screen at any size.
          await terminal.shows(/1 y[^]*3 n/);
          await terminal.type("3");
          await terminal.shows(/deny\s+Enter\s+confirms/);
          await terminal.press("Enter");
          await terminal.shows(/● ready/);
        });
      }
      assertEquals(Deno.readTextFileSync(join(workdir, "a.txt")), LINES);
    },
  });
}

Deno.test({
  name: "2 shows the rules to keep, and 3 takes what to do instead; the model reads it",
  ignore,
  async fn() {
    await using calls = await MadeCalls.begin();
    await calls.in("w", FILES, ASK);
    const { scenario } = calls;
    await using terminal = await TmuxTerminal.open(scenario.place, { cols: 100, rows: 30 });
    await terminal.line(svcLine("chat", "--session", scenario.session_id));
    await terminal.shows(/● ready/);
    const command = (name: string) =>
      ["run_command", { command: `cat ${name}` }] as [string, unknown];
    await terminal.line(calls.message(command("b.txt"), command("c.txt")));
    await terminal.shows("1 y allow");
    await terminal.type("3");
    await terminal.shows("Enter confirms");
    await terminal.type("use grep");
    await terminal.shows("Enter denies it and says what you type");
    await terminal.press("Enter");
    const next = await terminal.shows(/run cat c\.txt[^]*1 y allow/);
    assertStringIncludes(next, "use grep");
    await terminal.type("2");
    const rules = await terminal.shows("d this directory");
    assertStringIncludes(rules, "1 exactly this command");
    await terminal.type("1s");
    await terminal.shows("always allow exactly this command, this session");
    await terminal.press("Enter");
    await terminal.shows(/└ c\n[^]*● ready/);
  },
});

Deno.test({
  name: "a question that comes while a person types takes none of the keys",
  ignore,
  async fn() {
    const call = { name: "run_command", args: { command: "echo hi" } };
    await using scenario = await Scenario.begin([
      { text: Array(20).fill("word "), pace_ms: 100, calls: [call] },
      { text: "the end" },
    ], { start: ASK });
    await using terminal = await TmuxTerminal.open(scenario.place, { cols: 100, rows: 30 });
    await terminal.line(svcLine("chat", "--session", scenario.session_id));
    await terminal.shows(/● ready/);
    await terminal.line("go");
    await terminal.shows("word word");
    await terminal.type("123 yes");
    await terminal.shows("Tab to answer");
    await terminal.type("1 y");
    await terminal.shows("› 123 yes1 y");
    const { pending_approvals } = await scenario.call("session.get");
    assertEquals(pending_approvals.length, 1);
    await terminal.press("Tab");
    await terminal.shows("1 y allow");
    await terminal.type("1");
    await terminal.shows("allow  Enter confirms");
    await terminal.press("Enter");
    await terminal.shows(/└ hi[^]*the end[^]*› 123 yes1 y/);
  },
});

Deno.test({
  name: "line by line: the difference, the rules, and a line begun before is a message",
  ignore,
  async fn() {
    const edit = { path: "a.txt", old_text: "line 20\n", new_text: "twenty\n" };
    await using scenario = await Scenario.begin([
      {
        text: Array(20).fill("word "),
        pace_ms: 100,
        calls: [{ name: "edit_file", args: edit }],
      },
      { text: "the end" },
    ], { start: ASK });
    const { place, workdir } = scenario;
    Deno.writeTextFileSync(join(workdir, "a.txt"), LINES);
    await using terminal = await TmuxTerminal.open(place, { cols: 100, rows: 50 });
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", scenario.session_id)}`);
    await terminal.prompted();
    await terminal.line("go");
    await terminal.shows("word word");
    await terminal.type("1");
    const asked = await terminal.shows("Answer 3 or n: deny");
    for (
      const part of [
        "Question 1 of 1: allow edit_file?",
        `in ${workdir}`,
        "removed 20: line 20",
        "added 20: twenty",
        "Answer 2 or a: always allow",
      ]
    ) assertStringIncludes(asked, part);
    assert(!asked.includes("old_text"), asked);
    await terminal.shows("Your answer, 1, 2 or 3, or n, TEXT: 1");
    await new Promise((done) => setTimeout(done, 600));
    await terminal.press("Enter");
    await until(
      () =>
        scenario.client.events.some(({ type, data }) =>
          type === "user.message" && data.text === "1"
        ),
      "the line is a message",
    );
    assertEquals((await scenario.call("session.get")).pending_approvals.length, 1);
    await terminal.shows(/3 or n: deny[^]*3 or n: deny[^]*or n, TEXT:/);
    await new Promise((done) => setTimeout(done, 600));
    await terminal.line("1");
    await terminal.shows("the end");
    assertStringIncludes(Deno.readTextFileSync(join(workdir, "a.txt")), "twenty\n");
  },
});

Deno.test({
  name: "svc ctl approvals answer without a decision asks as a chat does",
  ignore,
  async fn() {
    await using calls = await MadeCalls.begin();
    const workdir = await calls.in("w", FILES, ASK);
    const { scenario } = calls;
    const made = calls.make(["apply_patch", { patch: PATCH }]);
    await scenario.client.wait(({ type }) => type === "approval.requested");
    const { approvals: [{ approval_id }] } = await scenario.call("approvals.list", {});
    const refused = await scenario.place.svc(["ctl", "approvals", "answer", approval_id]);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, "nothing was answered");
    await using terminal = await TmuxTerminal.open(scenario.place, { cols: 100, rows: 50 });
    await terminal.line(svcLine("ctl", "approvals", "answer", approval_id));
    const asked = await terminal.shows("or n, TEXT:");
    for (
      const part of [...KINDS["a patch of several files"].shows, `in ${workdir}`, "1 y  allow"]
    ) {
      assertStringIncludes(asked, `${part}`);
    }
    await terminal.line("what?");
    await terminal.shows(/what\?\n.*or n, TEXT:/);
    await terminal.line("n, one file at a time");
    await terminal.shows("→ n, one file at a time");
    const [{ output }] = await made;
    assertStringIncludes(output, "one file at a time");
  },
});
