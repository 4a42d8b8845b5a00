import { assertEquals } from "@std/assert";
import type { Question } from "../../../src/session/question.ts";
import { aboutQuestion, reasonLine } from "./asked_about.ts";

const question = (tool: string, args: unknown, more: Partial<Question> = {}): Question => ({
  tool,
  args,
  reason: tool,
  rule: tool,
  ...more,
});
const command = (command: string, reason: string, more: object = {}) =>
  question("run_command", { command, ...more }, { reason });

Deno.test("a question says what it asks, and a command what it may do", () => {
  const risk = (asked: Question) => aboutQuestion(asked).risk;
  assertEquals(risk(command("id", "run id")), risk(command("id", "run id (limited by Landlock)")));
  const free = "It is in no sandbox: it can change all your files and use the network.";
  assertEquals(risk(command("id", "run id (runs with all your rights)")), free);
  const outside = { outside_sandbox: true, reason: "why" };
  assertEquals(risk(command("id", "run outside of the sandbox: id", outside)), free);
  assertEquals(
    risk(command("id", "run with network access: id", { network: true, reason: "why" })),
    "It can change and delete files in this session's directories. " +
      "It can send what it reads to the network.",
  );
});

Deno.test("what is not of svc itself is named as such", () => {
  const rule = `"search" of tool server issues, as described now (SHA-256 ${"0".repeat(64)})`;
  assertEquals(
    aboutQuestion(question("issues_search", {}, { rule })).head,
    "Call this tool of a server?",
  );
  const heads = [
    question("start_project_servers", { file: "svc.policy.yaml" }),
    question("git_push", { repository: "https://example.com/a.git", for: "run git push" }),
    question("trust_directory", { hooks: ["tool.before: ./check (30 s)"] }),
    question("connect", { host: "example.com", for: "run curl" }),
    question("remember", { text: "likes tea of tool server x, as described now" }),
  ].map((asked) => aboutQuestion(asked).head);
  assertEquals(heads, [
    "Start this project's tool servers?",
    "Push with your credential?",
    "Trust this directory?",
    "Let the command connect?",
    "Allow this?",
  ]);
});

Deno.test("the files of a question are counted by what becomes of them", () => {
  const head = (...changes: Question["changes"] & object) =>
    aboutQuestion(question("apply_patch", { patch: "" }, { changes })).head;
  const changed = { path: "a", before: "1", after: "2" };
  const made = { path: "b", after: "2" };
  const gone = { path: "c", before: "1", after: "", deleted: true as const };
  assertEquals(head(changed, { ...changed, before: "3" }), "Change this file?");
  assertEquals(head(made), "Create this file?");
  assertEquals(head(gone), "Delete this file?");
  assertEquals(head(changed, made, gone), "Change these 3 files?");
});

Deno.test("the line of a server's tool leaves out its arguments, which stand below it", () => {
  const args = { q: "tea", note: "a".repeat(200) };
  const whole = JSON.stringify(args);
  const line = (with_it: string) =>
    reasonLine({ args, reason: `search of tool server issues${with_it}` });
  assertEquals(line(` with ${whole} (asked)`), "search of tool server issues (asked)");
  assertEquals(
    line(` with ${whole.slice(0, 60)}… (asked)`),
    "search of tool server issues (asked)",
  );
  // Other ones are not taken for them.
  assertEquals(line(' with {"q":"coffee"…'), 'search of tool server issues with {"q":"coffee"…');
});

Deno.test("the line of a command leaves out the command, which stands below it", () => {
  const line = (text: string, reason: string) => reasonLine({ args: { command: text }, reason });
  assertEquals(line("a\nb", "run a\nb"), undefined);
  assertEquals(line("id", "run id (no files outside)"), "run this command (no files outside)");
  assertEquals(line("id", 'agent "find": run id'), 'agent "find": run this command');
  assertEquals(line("id", "run with network access: id"), "run with network access: this command");
  assertEquals(reasonLine({ args: { path: "a" }, reason: "edit a" }), "edit a");
});
