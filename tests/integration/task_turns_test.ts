/** Hirers take turns at the workers, through a real daemon. */
import { assert, assertEquals } from "@std/assert";
import { RpcClient } from "../../src/client/rpc.ts";
import { type Hire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { testEngines } from "../support/hire_engines.ts";
import { until } from "../support/scripted.ts";
import { TestClient } from "../support/svc.ts";

const QUICK = { task_type: "deploy", query: "x", extra: { target: "quick", dry_run: true } };

/** Queues a task for a token; its id. */
async function queue(hire: Hire, token: string): Promise<string> {
  const headers = { prefer: "respond-async" };
  const { status, json, text } = await hire.request("POST", "/api/task", {
    body: QUICK,
    token,
    headers,
  });
  assertEquals(status, 202, text);
  return json.id;
}

testEngines(
  "a token's first task starts next, although another token has many in the queue",
  async (yard) => {
    const { place } = yard;
    // Restate's log has the newest tasks only.
    const many_tasks = yard.engine === "local" ? 300 : 30;
    writePolicy(place, { deploy_targets: [shellTarget("quick", place.dir, "true")] });
    await using hire = await yard.serve({ workers: 1 });
    const sock = place.discovery().sock;
    await using client = new TestClient(
      new RpcClient(await Deno.connect({ transport: "unix", path: sock })),
    );
    await client.rpc.call("queue.pause");
    const [many, other] = TOKENS;
    for (let n = 0; n < many_tasks; n++) await queue(hire, many);
    const same = await queue(hire, many);
    const late = await queue(hire, other);
    await client.rpc.call("queue.resume");
    await until(
      async () => {
        const { queued, running } = await client.rpc.call("queue.status");
        return queued + running === 0;
      },
      "the end of all tasks",
      600_000,
    );
    const { entries } = await client.rpc.call("queue.wal", { n: 10_000 });
    const starts = entries.filter(({ event }: { event: string }) => event === "started")
      .map(({ task_id }: { task_id: string }) => task_id);
    assertEquals(starts.length, many_tasks + 2);
    assert(starts.indexOf(late) < 3, `the other token's task was start ${starts.indexOf(late)}`);
    assertEquals(
      starts.indexOf(same),
      many_tasks + 1,
      "control: the same token's task was the last",
    );
  },
  { ignore: Deno.build.os === "windows" },
);
