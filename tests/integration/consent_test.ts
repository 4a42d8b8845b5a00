/**
 * Who asks for work has allowed what it does, unless a model asks for it over MCP: then svc asks as
 * `[agent] approval` says, whatever the model writes into its call.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { McpClient } from "../support/mcp.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc;
const SOW = (command: string) =>
  JSON.stringify({
    id: "m-1",
    name: "Planted",
    sessions: [{
      id: "s-1",
      title: "S",
      tasks: [{ id: "t-1", description: `run ${command}` }],
      acceptance_criteria: [{ id: "ac-1", description: "it is there", file_exists: "made" }],
    }],
  });

/** Work that writes `made` into a directory, by the tool that begins it. */
const WORK: Record<string, (workdir: string) => Record<string, unknown>> = {
  "queue.enqueue": (workdir) => ({
    task_type: "code",
    description: "run touch made",
    extra: { workdir, approval: "auto" },
  }),
  "svc_build_from_sow": (repo_root) => ({
    repo_root,
    sow: SOW("touch made"),
    runner: "builtin/toolbelt",
  }),
};

async function overMcp(daemon: Daemon, verb: string, args: Record<string, unknown>) {
  await using mcp = await McpClient.http(daemon, "?caps=all");
  const { tools } = await mcp.client.listTools();
  const name = new RegExp(`^(svc.)?${verb.replace(".", "[._]")}$`);
  const tool = tools.find((it) => name.test(it.name))!;
  const { isError, content } = await mcp.client.callTool({ name: tool.name, arguments: args });
  assert(!isError, JSON.stringify(content));
}

const waiting = async (client: TestClient) =>
  (await client.rpc.call("approvals.list", {})).approvals;

for (const [verb, args] of Object.entries(WORK)) {
  for (const configured of ["ask", "auto"]) {
    Deno.test({
      name: `${verb} over MCP with approval ${configured} in daemon.toml`,
      ignore,
      async fn() {
        await using place = new Place();
        place.configure(`[agent]\napproval = "${configured}"\n`);
        const daemon = await place.serve();
        await using client = await daemon.rpc();
        const workdir = place.mkdir("project");
        const made = () => exists(join(workdir, "made"));
        await overMcp(daemon, verb, args(workdir));
        if (configured === "ask") {
          await until(async () => (await waiting(client)).length === 1, "the question", 60_000);
          assert(!made());
          const [{ session_id, approval_id }] = await waiting(client);
          const decision = { session_id, approval_id, decision: "allow" };
          await client.rpc.call("session.approve", decision);
        }
        await until(made, "the work", 60_000);
        assertEquals(await waiting(client), []);
      },
    });
  }

  Deno.test({
    name: `${verb} of the person's own asks nothing`,
    ignore,
    async fn() {
      await using place = new Place();
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const workdir = place.mkdir("project");
      await client.rpc.call(verb, args(workdir));
      await until(() => exists(join(workdir, "made")), "the work", 60_000);
    },
  });
}
