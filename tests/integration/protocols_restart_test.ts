/** One process of `svc mcp-serve` and one of `svc acp` over restarts, kills and updates. */
import { assert, assertEquals } from "@std/assert";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Editor } from "../support/acp.ts";
import { cut, type Way, WAYS } from "../support/cut.ts";
import { McpClient, McpProcess } from "../support/mcp.ts";
import type { Answer } from "../support/model_servers.ts";
import { installBinary } from "../support/releases.ts";
import { Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

const QUESTION: Answer = {
  calls: [{
    id: "call_1",
    name: "ask_user",
    args: { question: "Which one?", options: [{ label: "Postgres" }, { label: "SQLite" }] },
  }],
};
const HALF: Answer = { text: ["One ", "two "], hang_after: 2 };
const WHOLE: Answer = { text: ["One ", "two ", "three."] };
const BEGIN = [QUESTION, { text: "Then SQLite." }];
/** An update waits for an answer that is under way, so that it is not cut off. */
const cutsAnswers = (way: Way) => way !== "an update";
const stepsOf = (
  way: Way,
) => [...BEGIN, ...cutsAnswers(way) ? [HALF, WHOLE] : [], { text: "Bye." }];
/** After a crash, too. */
const OPTIONS: ScenarioOptions = { toml: `[agent]\ncontinue = "always"\n` };

for (const way of WAYS) {
  Deno.test({
    name: `an editor's process goes on over ${way}: a question, an answer, a message`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(stepsOf(way), OPTIONS);
      if (way === "an update") installBinary(it.place);
      const decided = Promise.withResolvers<string>();
      const args = ["--approve", "auto", "--model", it.model];
      await using editor = new Editor(it.place, { args, choose: () => decided.promise });
      const session_id = await editor.open(it.workdir);
      const prompt = (text: string) => {
        const ended = editor.prompt(session_id, text);
        // After a failure, the end of the editor ends it.
        ended.catch(() => {});
        return ended;
      };
      const asking = prompt("ask me");
      await until(() => editor.asked.length === 1, "the question");
      await cut(it, way);
      decided.resolve(
        editor.asked[0].options.find(({ name }) => name === "SQLite")!.optionId,
      );
      assertEquals(await asking, "end_turn");
      assertEquals(editor.text(), "Then SQLite.");
      assertEquals([editor.asked.length, editor.withdrawn], [1, 0]);
      const answer = it.asked[1].filter(({ role }) => role === "tool");
      assertEquals(answer.length, 1);
      assert(JSON.stringify(answer).includes("SQLite"), JSON.stringify(answer));

      let said = "Then SQLite.";
      if (cutsAnswers(way)) {
        const counting = prompt("count");
        await until(() => editor.text().endsWith("One two "), "the half of the answer");
        await cut(it, way);
        assertEquals(await counting, "end_turn");
        said += "One two three.";
        assertEquals(editor.text(), said);
      }
      assertEquals(await prompt("bye"), "end_turn");
      assertEquals(editor.text(), `${said}Bye.`);
      assertEquals([editor.asked.length, it.asked.length], [1, stepsOf(way).length]);
    },
  });

  Deno.test({
    name: `a process of mcp-serve goes on over ${way}: a question, an answer, a message`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(stepsOf(way), OPTIONS);
      if (way === "an update") installBinary(it.place);
      const { session_id } = it;
      await using client = await McpClient.over(new McpProcess(it.place, ["--caps", "all"]));
      let changed = 0;
      client.client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        changed++;
      });
      const session = () => client.data("svc.session.get", { session_id });
      const said = async (): Promise<string[]> => {
        const { messages } = await client.data("svc.session.transcript", { session_id });
        return messages.filter(({ role }: { role: string }) => role === "assistant")
          .map(({ text }: { text: string }) => text);
      };
      const idle = () => until(async () => (await session()).activity === "idle", "the end");
      const uri = `svc://sessions/${session_id}/transcript`;
      await client.client.subscribeResource({ uri });
      /** Has the process meet the next daemon; a call at the moment of the cut would be lost. */
      const over = async () => {
        const before = client.pushed.length;
        await cut(it, way);
        await client.client.ping();
        await client.until(
          () => client.pushed.slice(before).find(({ event }) => event === "daemon.reconnected"),
          "daemon.reconnected",
        );
      };

      await client.data("svc.session.send", { session_id, text: "ask me" });
      const pending = async () => (await session()).pending_approvals;
      await until(async () => (await pending()).length === 1, "the question");
      const [{ approval_id }] = await pending();
      await over();
      const [waiting] = await pending();
      assertEquals([waiting.approval_id, (await pending()).length], [approval_id, 1]);
      const answer = { session_id, approval_id, chosen: ["SQLite"] };
      await client.data("svc.session.answer", answer);
      assertEquals((await client.call("svc.session.answer", answer)).isError, true);
      await idle();
      assertEquals((await said()).at(-1), "Then SQLite.");

      if (cutsAnswers(way)) {
        await client.data("svc.session.send", { session_id, text: "count" });
        await until(() => it.asked.length === 3, "the model is asked");
        await over();
        await idle();
        assertEquals((await said()).filter((text) => text.includes("One")), ["One two three."]);
      }
      client.updated.length = 0;
      await client.data("svc.session.send", { session_id, text: "bye" });
      await client.until(() => client.updated.includes(uri), "resources/updated");
      await idle();
      assertEquals([(await said()).at(-1), it.asked.length], ["Bye.", stepsOf(way).length]);
      // Another version may have other tools.
      assertEquals(changed, way === "an update" ? 1 : 0);
    },
  });
}
