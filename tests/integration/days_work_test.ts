/** How often a person is asked in a day's work: editing, testing, committing, pushing, installing. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Answer } from "../support/model_servers.ts";
import { hasProgram } from "../support/programs.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !hasProgram("bwrap") || !hasProgram("git") || !hasProgram("make");

const run = (command: string, more = {}): Answer => ({
  calls: [{ name: "run_command", args: { command, ...more } }],
});
const install = run("sh ./install", { network: true, reason: "it fetches the packages" });

/** A morning and an afternoon: the second does the same kinds of things to other files. */
const MORNING: Answer[] = [
  { calls: [{ name: "read_file", args: { path: "main.c" } }] },
  { calls: [{ name: "edit_file", args: { path: "main.c", old_text: "1", new_text: "2" } }] },
  run("make test"),
  { calls: [{ name: "write_file", args: { path: "src/new.c", content: "int n;\n" } }] },
  run("make test 2>&1 | tail -5"),
  run("git add -A"),
  run("git commit -qm 'Change one'"),
  run("git push origin main"),
  install,
  { text: "Done." },
];
const AFTERNOON: Answer[] = [
  { calls: [{ name: "edit_file", args: { path: "main.c", old_text: "2", new_text: "3" } }] },
  { calls: [{ name: "write_file", args: { path: "src/more.c", content: "int m;\n" } }] },
  run("make test"),
  run("git add -A && git commit -qm 'Change two'"),
  run("git status && git log --oneline | head -3"),
  run("git push origin main"),
  install,
  { text: "Done." },
];

/** Answers as a person does who does not want to be asked twice. Pushing is what they do themselves. */
function answered({ reason, choices = [] }: { reason: string; choices?: string[] }) {
  if (/git push/.test(reason)) return { decision: "deny" };
  // What a line begins with, otherwise the line itself; for files the tool.
  const is_line = choices.some((it) => it.startsWith("run_command"));
  const rule = choices.find((it) => / \*$/.test(it)) ?? choices.at(is_line ? 0 : -1);
  return rule === undefined
    ? { decision: "allow_always" }
    : { decision: "allow_always", always: { rule, scope: "directory" } };
}

for (
  const { mode, rules, most } of [
    { mode: "ask", rules: "", most: 9 },
    { mode: "ask", rules: '[permissions]\ndeny = ["run_command: git push*"]\n', most: 7 },
    { mode: "workspace", rules: '[permissions]\nask = ["run_command: git push*"]\n', most: 3 },
  ]
) {
  Deno.test({
    name: `a day's work in ${mode} asks at most ${most} times${
      rules === "" ? "" : `, with ${rules.split("\n")[1]}`
    }`,
    ignore,
    async fn() {
      const days = [...MORNING, ...AFTERNOON];
      await using it = await Scenario.begin(
        ({ messages }) => days[messages.filter(({ role }) => role === "assistant").length],
        { start: { approval: mode }, toml: rules },
      );
      const { workdir } = it;
      Deno.writeTextFileSync(`${workdir}/main.c`, "int one = 1;\n");
      Deno.writeTextFileSync(`${workdir}/Makefile`, "test:\n\t@echo ok 1\n");
      Deno.writeTextFileSync(`${workdir}/install`, "echo installed\n");
      Deno.writeTextFileSync(`${workdir}/.gitignore`, ".svc\n");
      const git = async (...args: string[]) =>
        await new Deno.Command("git", { args, cwd: workdir, stdout: "piped", stderr: "piped" })
          .output();
      await git("init", "-q", "-b", "main");
      await git("config", "user.name", "A");
      await git("config", "user.email", "a@example.com");
      for (const message of ["in the morning", "after a restart, in the afternoon"]) {
        const ends = it.client.of("turn.completed").length;
        await it.send(message);
        const over = () => it.client.of("turn.completed").length > ends;
        for (let n = it.client.of("approval.requested").length;; n++) {
          const next = () => it.client.of("approval.requested")[n]?.data;
          await until(() => over() || next() !== undefined, "a question or the end");
          if (next() === undefined) break;
          const { approval_id, reason, choices } = next();
          await it.call("session.approve", { approval_id, ...answered({ reason, choices }) });
        }
        if (message === "in the morning") {
          await it.daemon.stop();
          await it.restart();
          await until(() => it.client.of("turn.completed").length === 1, "the morning again");
        }
      }
      const asked = it.client.of("approval.requested").map(({ data }) => String(data.reason));
      assert(asked.length <= most, asked.join("\n"));
      for (const reason of asked) assert(reason.length < 100, reason);
      const done = it.client.of("session.tool_completed").map(({ data }) => data);
      const refused = done.filter(({ ok }) => !ok);
      assertEquals(refused.length, 2, JSON.stringify(refused));
      for (const { output } of refused) assertStringIncludes(output, "denied");
      const log = await git("log", "--format=%s");
      assertEquals(new TextDecoder().decode(log.stdout), "Change two\nChange one\n");
    },
  });
}
