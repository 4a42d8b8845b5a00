/**
 * What would make a conversation useless for good, as its provider refuses every later request: the
 * model servers here check all that they are sent as strictly as the providers do.
 */
import { assert, assertEquals } from "@std/assert";
import type { Answer, Json, ScriptedCall } from "../support/model_servers.ts";
import { type Provider, Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** All strings in a request. */
function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) {
    for (const each of Object.values(value)) yield* stringsIn(each);
  }
}

/** What a provider would refuse in a request. */
function violations({ messages }: Json): string[] {
  const found: string[] = [];
  if ([...stringsIn(messages)].some((text) => !text.isWellFormed())) {
    found.push("no low surrogate in string");
  }
  const ids: string[] = [];
  const names: string[] = [];
  for (const { role, content, tool_calls = [] } of messages) {
    const blocks: Json[] = Array.isArray(content) ? content : [{ type: "text", text: content }];
    if (role !== "tool" && tool_calls.length === 0 && content === null) found.push("no content");
    for (const { type, text, id, name, content } of blocks) {
      if (type === "text" && typeof text === "string" && text.trim() === "" && role !== "tool") {
        // Chat completions take an empty text beside calls.
        if (tool_calls.length === 0) found.push(`blank text of ${role}`);
      }
      if (type === "tool_result" && typeof content !== "string" && content?.length === 0) {
        found.push("an empty result");
      }
      if (type === "tool_use") ids.push(id), names.push(name);
    }
    for (const call of tool_calls) ids.push(call.id), names.push(call.function.name);
  }
  if (new Set(ids).size < ids.length) found.push(`tool ids must be unique: ${ids}`);
  const bad = names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
  if (bad.length > 0) found.push(`names of tools: ${JSON.stringify(bad)}`);
  return found;
}

const run = (command: string, more: Partial<ScriptedCall> = {}): ScriptedCall => {
  return { id: "run_command:0", name: "run_command", args: { command }, ...more };
};
/** Over what is kept of an output; each character has two halves, and the cut may fall between. */
const emoji = (before: string) => run(`printf '${before}'; yes '😀' | head -n 40000 | tr -d '\\n'`);

/** What a model says in a turn, with what the session goes on after. */
const TURNS: Record<string, Answer[]> = {
  "an output cut between two halves (anthropics/claude-code#69927, anthropics/claude-code#50019)": [
    { calls: [emoji("")] },
    { calls: [emoji("x")] },
    { calls: [emoji("xx")] },
    { text: "done" },
  ],
  "half a character in arguments (anthropics/claude-code#68325)": [
    { calls: [run("", { args: '{"command":"echo \\ud99c end"}' })] },
    { text: "done" },
  ],
  "half a character in an answer (anthropics/claude-code#56064)": [{ text: "half \ud83d of it" }],
  "ids that are those of a turn (fw-ai/fireconnect#16, oguzbilgic/kern-ai#412)": [
    { calls: [run("echo 1")] },
    { calls: [run("echo 2"), run("echo 3", { id: "run_command:1" })] },
    { text: "done" },
  ],
  "a call without a text, and a result without one (anthropics/claude-code#62396, dirge-code/dirge#757)":
    [{ calls: [run("true")] }, { text: ["", ""], calls: [run("true")] }, { text: "done" }],
  "blank text before a call (anomalyco/opencode#31259)": [
    { text: " \n", calls: [run("echo 1")] },
    { text: "done" },
  ],
  "nothing but blanks as an answer (block/buzz#559)": [{ text: " \n\n " }],
  "a name that is a command line (anthropics/claude-code#94799, earendil-works/pi#3108)": [
    { calls: [run("true", { name: 'grep -n "x" src/*.ts | head' })] },
    { calls: [run("true", { name: "run.command" })] },
    { text: "done" },
  ],
};

for (const provider of ["anthropic", "openai-compatible"] satisfies Provider[]) {
  Deno.test({
    name:
      `no answer or output makes later requests ones that are refused, over a restart: ${provider}`,
    ignore,
    async fn(t) {
      let next: Answer[] = [];
      const refused: string[] = [];
      await using it = await Scenario.begin(({ body }) => {
        const wrong = violations(body);
        refused.push(...wrong);
        if (wrong.length > 0) {
          return { status: { code: 400, message: wrong.join(), type: "invalid" } };
        }
        return next.shift() ?? { text: "fine" };
      }, { provider });
      for (const [name, answers] of Object.entries(TURNS)) {
        await t.step(name, async () => {
          next = structuredClone(answers);
          await it.turn("begin");
          next = [];
          const { data } = await it.turn("go on");
          assertEquals([refused, data.stop_reason, data.message], [[], "ok", "fine"]);
        });
      }
      await it.restart();
      assertEquals((await it.turn("and now?")).data.message, "fine");
      assertEquals(refused, []);
    },
  });
}

Deno.test("the checks of those servers find what a provider refuses", () => {
  const calls = [
    { id: "a", function: { name: "run.command" } },
    { id: "a", function: { name: "ok" } },
  ];
  const messages = [
    { role: "user", content: "half \ud83d" },
    { role: "assistant", content: " " },
    { role: "assistant", content: null, tool_calls: calls },
  ];
  const found = violations({ messages }).join("\n");
  for (const part of ["surrogate", "blank text", "unique", "names of tools"]) {
    assert(found.includes(part), `${part}: ${found}`);
  }
});
