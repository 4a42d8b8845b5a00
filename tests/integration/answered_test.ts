/**
 * Who answers a question of svc's: what they were shown, through which door, and what one hears who
 * answers too late.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { McpClient } from "../support/mcp.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc;

/** A session of the toolbelt that waits for an answer about a command. */
async function asking(client: TestClient, workdir: string, command: string) {
  const session_id = await client.session({ workdir, approval: "ask" });
  await client.rpc.call("session.send", { session_id, text: `run ${command}` });
  const { data } = await client.wait(
    (event) => event.session_id === session_id && event.type === "approval.requested",
    "approval.requested",
  );
  return { session_id, approval_id: data.approval_id as string };
}

async function resolved(client: TestClient, session_id: string) {
  const { events } = await client.rpc.call("session.history", { session_id });
  return events.findLast(({ type }: { type: string }) => type === "approval.resolved")?.data;
}

Deno.test({
  name: "who answers a question too late hears who was faster, also after a restart",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("project");
    let late: { session_id: string; approval_id: string };
    {
      await using client = await daemon.rpc();
      late = await asking(client, workdir, "true");
      const path = `/v1/sessions/${late.session_id}/approvals/${late.approval_id}`;
      const first = await daemon.http("POST", path, { decision: "allow" });
      assertEquals(first.status, 200);
    }
    for (const restarted of [false, true]) {
      if (restarted) {
        await daemon.kill();
        daemon = await place.serve();
      }
      const path = `/v1/sessions/${late.session_id}/approvals/${late.approval_id}`;
      const { status, json } = await daemon.http("POST", path, { decision: "deny" });
      assertEquals([status, json.error.code], [409, "conflict"]);
      const { reason, by, at, decision } = json.error.details;
      assertEquals([reason, by, decision], ["already_answered", "http", "allow"]);
      assert(Date.parse(at) <= Date.now(), at);
      assertStringIncludes(json.error.message, `was already answered: allow, over HTTP, at ${at}`);
      await using client = await daemon.rpc();
      const error = await client.rpc.call("session.approve", { ...late, decision: "deny" })
        .then(() => undefined, (thrown) => thrown);
      assertEquals([error.code, error.details.reason], ["conflict", "already_answered"]);
      const unknown = `/v1/sessions/${late.session_id}/approvals/appr_none`;
      assertEquals((await daemon.http("POST", unknown, { decision: "deny" })).status, 404);
    }
  },
});

Deno.test({
  name: "a client over MCP is given the question before it can allow it",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { session_id, approval_id } = await asking(client, place.mkdir("project"), "echo hidden");
    await using mcp = await McpClient.http(daemon, "?caps=all");
    const name = (await mcp.client.listTools()).tools.find((it) =>
      /session.approve$/.test(it.name)
    )!
      .name;
    const approve = async (more: Record<string, unknown>) =>
      // deno-lint-ignore no-explicit-any -- what a tool answers
      await mcp.client.callTool({ name, arguments: { session_id, approval_id, ...more } }) as any;
    const unread = await approve({ decision: "allow" });
    assertEquals(unread.isError, true);
    const [{ text }] = unread.content;
    assertStringIncludes(text, "echo hidden");
    const { pending_approvals } = await client.rpc.call("session.get", { session_id });
    assertEquals(pending_approvals.length, 1);
    const [, shown] = text.match(/with shown ([0-9a-f]{64})/);
    assertEquals((await approve({ decision: "allow", shown: "0".repeat(64) })).isError, true);
    assertEquals((await approve({ decision: "allow", shown })).isError ?? false, false);
    const { by, shown: recorded } = await resolved(client, session_id);
    assertEquals([by, recorded], ["mcp", shown]);
  },
});

Deno.test({
  name: "svc ctl allows only what was read",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { session_id, approval_id } = await asking(client, place.mkdir("project"), "echo hidden");
    const answer = (...more: string[]) =>
      place.svc(["ctl", "approvals", "answer", approval_id, "allow", ...more]);
    const unread = await answer();
    assertEquals(unread.code, 1);
    assertStringIncludes(unread.stdout, "run echo hidden");
    const [, shown] = unread.stderr.match(/--shown ([0-9a-f]{64})/)!;
    const other = await answer("--shown", "0".repeat(64));
    assertEquals(other.code, 1);
    assertStringIncludes(other.stderr, "not the one that --shown names");
    assertEquals(await resolved(client, session_id), undefined);
    assertEquals((await answer("--shown", shown)).code, 0);
    const { by, shown: recorded } = await resolved(client, session_id);
    assertEquals([by, recorded], ["socket", shown]);
  },
});
