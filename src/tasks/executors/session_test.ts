import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { SvcError } from "../../platform/errors.ts";
import type { TaskContext, TaskRequest } from "../task.ts";
import { sessionExecutor, type TaskSession } from "./session.ts";

const REQUEST: TaskRequest = { task_type: "code", description: "do it", extra: { workdir: "/w" } };

/** An executor whose session's turn ends as the test says, and what it did. */
function bench() {
  const said: string[] = [];
  const abort = new AbortController();
  const turn = Promise.withResolvers<Awaited<TaskSession["turn"]>>();
  const executor = sessionExecutor({
    start({ task_id, workdir, prompt, model }) {
      said.push(`start ${task_id} ${workdir} ${model} ${prompt}`);
      const stop = () => Promise.resolve(void said.push("stop"));
      return Promise.resolve({ session_id: "sess_1", turn: turn.promise, stop });
    },
  });
  const context: TaskContext = {
    task_id: "t-1",
    signal: abort.signal,
    attempt: 1,
    note: (text) => said.push(text),
  };
  return { said, abort, turn, executor, context };
}

Deno.test("the turn's message is the summary; the session is ended with it", async () => {
  const { executor, context, turn, said } = bench();
  turn.resolve({ stop_reason: "ok", message: " grün\n", usage: { usd: 1 } });
  const request = { ...REQUEST, query: "how?", extra: { workdir: "/w", model: "a/b" } };
  assertEquals(await executor.run(request, context), {
    summary: "grün",
    size: 5,
    usage: { usd: 1 },
  });
  assertEquals(said, ["start t-1 /w a/b do it\n\nhow?", "session sess_1", "stop"]);
});

Deno.test("a turn that does not end well fails the task and says how it ended", async () => {
  const { executor, context, turn, said } = bench();
  turn.resolve({ stop_reason: "budget", message: "", error: "no money" });
  await assertRejects(
    () => executor.run(REQUEST, context),
    Error,
    'the turn of session sess_1 ended with "budget": no money',
  );
  assertEquals(said.at(-1), "stop");
});

Deno.test("an abort ends the session, also one that has just been started", async () => {
  for (const late of [true, false]) {
    const { executor, context, abort, said } = bench();
    const running = executor.run(REQUEST, context);
    if (late) await Promise.resolve();
    abort.abort(new Error("enough"));
    await assertRejects(() => running, Error, "enough");
    assertEquals(said.at(-1), "stop");
  }
});

Deno.test("a request without an absolute workdir is refused", () => {
  const { executor } = bench();
  for (const extra of [undefined, {}, { workdir: "w" }, { workdir: 3 }]) {
    assertThrows(() => executor.check!({ ...REQUEST, extra }), SvcError, "extra.workdir");
  }
  const extra = { workdir: "/w", model: 3 };
  assertThrows(() => executor.check!({ ...REQUEST, extra }), SvcError, "extra.model");
  executor.check!(REQUEST);
});
