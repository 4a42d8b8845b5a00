/** `svc chat -p` and `svc chat` without the terminal UI, while the daemon is restarted or killed. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import type { ResultLine } from "../../src/cli/chat_lines.ts";
import { cut } from "../support/cut.ts";
import type { Answer } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

const WAYS = ["a restart", "a crash"] as const;

const HALF: Answer = { text: ["One ", "two "], hang_after: 2 };
const WHOLE: Answer = { text: ["One ", "two ", "three."], usage: { input: 100, output: 10 } };
const COMMAND: Answer = {
  text: "Now.",
  usage: { input: 100, output: 10 },
  calls: [{
    id: "call_1",
    name: "run_command",
    args: { command: "echo one >> out; while [ ! -e ../go ]; do sleep 0.05; done" },
  }],
};
const QUESTION: Answer = {
  usage: { input: 100, output: 10 },
  calls: [{ id: "call_1", name: "ask_user", args: { question: "Which?" } }],
};

/** When the daemon ends. */
const MOMENTS: Record<string, { steps: Answer[]; begun(it: Scenario): Promise<void> }> = {
  "an answer": {
    steps: [HALF, WHOLE],
    begun: (it) => until(() => it.server.requests.length === 1, "the model is asked"),
  },
  "a command": {
    steps: [COMMAND, WHOLE],
    begun: (it) =>
      until(
        () => Deno.stat(join(it.place.dir, "chat", "out")).then(() => true, () => false),
        "the command",
      ),
  },
};

for (const way of WAYS) {
  for (const [moment, { steps, begun }] of Object.entries(MOMENTS)) {
    for (const output of ["text", "stream-json"]) {
      Deno.test({
        name: `svc chat -p --output ${output} goes on over ${way} in ${moment}`,
        ignore,
        async fn() {
          await using it = await Scenario.begin(steps);
          const workdir = it.place.mkdir("chat");
          const flags = ["-m", it.model, "-p", "count", "--approve", "auto", "--output", output];
          const chat = it.place.svc(["chat", workdir, ...flags]);
          await begun(it);
          await cut(it, way);
          const { code, stdout, stderr } = await chat;
          assertEquals([code, stderr], [0, ""]);
          const commands = moment === "a command";
          if (commands) assertEquals(Deno.readTextFileSync(join(workdir, "out")), "one\n");
          if (output === "text") {
            assertEquals(stdout.trim().split("One").length, 2);
            assertStringIncludes(stdout, "One two three.");
            return;
          }
          const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
          const result = lines.at(-1) as ResultLine;
          assertEquals([result.stop_reason, result.result], ["ok", "One two three."]);
          assertEquals(result.tool_calls, commands ? 1 : 0);
          assertEquals(result.usage.tokens_in, commands ? 200 : 100);
          const text = lines.map((line) => line.type === "text" ? line.text : "").join("");
          assertEquals(text.replace("Now.", "").trim(), "One two three.");
          const results = lines.filter((line) => line.type === "tool_completed");
          assertEquals(results.map((line) => line.output), commands ? [UNKNOWN_OUTCOME] : []);
        },
      });
    }
  }

  Deno.test({
    name: `svc chat without the terminal UI goes on over ${way}: an answer, a question, a message`,
    ignore: ignore || !has_tmux,
    async fn() {
      await using it = await Scenario.begin([HALF, WHOLE, QUESTION, { text: "Then A." }, {
        text: "Bye.",
      }], { toml: `[agent]\ncontinue = "always"\n` });
      await using terminal = await TmuxTerminal.open(it.place);
      await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
      await terminal.shows("/help");
      await terminal.line("count");
      await terminal.shows("One two");
      await cut(it, way);
      await terminal.shows("One two three.");
      await terminal.line("ask me");
      await terminal.shows("Which?");
      await cut(it, way);
      // What is typed before the client is back is not an answer.
      await delay(1_500);
      await terminal.line("A");
      await terminal.shows("Then A.");
      await terminal.line("bye");
      const screen = await terminal.shows("Bye.");
      for (const once of ["three.", "Which?", "Then A."]) {
        assertEquals(screen.split(once).length, 2, `${once} is shown once:\n${screen}`);
      }
      assert(!screen.includes("lost the connection"), screen);
    },
  });
}
