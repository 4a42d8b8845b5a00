import { assert, assertEquals, assertRejects } from "@std/assert";
import { deadline } from "@std/async";
import { has_restate } from "../../../../tests/support/restate.ts";
import { PATIENCE_MS, RestateBench } from "../../../../tests/support/task_engines.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { QUEUE_KEY } from "./api.ts";

const client = { key_id: "", request_id: "r", context_id: "c", message: null };

Deno.test({
  name:
    "Restate: a page of ended tasks goes with all that is theirs, one with a running task stays",
  ignore: !has_restate,
  // node:http2 keeps a timer for the date header.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using bench = await RestateBench.open(1);
    const { engine, ingress, artifacts } = bench;
    const made = await engine.run(
      { task_type: "files", description: '["a.txt"]' },
      { hired: true, client },
    );
    const running = await bench.start();
    for (let n = 0; n < 12; n++) await engine.run({ task_type: "echo", description: "x" });
    const page = () => ingress.call("svc-page", "0", "get");
    assert((await page()).length > 0, "the control: the tasks are on the page");

    await ingress.call("svc-page", "0", "drop");
    assert((await page()).length > 0, "a task of the page is running");
    assertEquals((await engine.get(made.id)).status, "completed");

    running.finish();
    await bench.reach(running.task_id, "completed");
    // The end of a task gets to its page with those of others.
    await bench.until(async () => {
      await engine.run({ task_type: "echo", description: "x" });
      await ingress.call("svc-page", "0", "drop");
      return (await page()).length === 0;
    }, "the page to go");
    await bench.until(
      async () => await artifacts.open(made.id, { name: "a.txt" }) === undefined,
      "artifacts",
    );
    await deadline(
      assertRejects(async () => await engine.get(made.id), SvcError, "there is no task"),
      PATIENCE_MS,
    );
    assertEquals(await engine.taskOf(client), undefined);
    const { counts } = await ingress.call("svc-queue", QUEUE_KEY, "state", { now: Date.now() });
    assert(counts.completed < 12, "they no longer count");
  },
});
