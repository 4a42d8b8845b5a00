import { assert, assertEquals, assertRejects } from "@std/assert";
import { SvcError } from "../../src/protocol/errors.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "a call that takes long is a lane with its output; killing it ends the call, not the turn",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("project");
    const id = await client.session({ workdir, approval: "auto" });
    const { rpc } = client;
    await rpc.call("session.send", {
      session_id: id,
      text: "run echo early; sleep 60\nrun echo after",
    });
    const delta = await client.wait(
      ({ type, data }) => type === "lane.delta" && data.lane_id !== "main",
      "the lane's output",
    );
    const { lane_id } = delta.data;
    assertEquals(delta.data.content_block, { type: "text", text: "early\n" });

    const { lanes } = await rpc.call("lanes.list", { session_id: id });
    assertEquals(lanes.map((lane: { kind: string; status: string }) => [lane.kind, lane.status]), [
      ["main", "running"],
      ["tool", "running"],
    ]);
    const got = await rpc.call("lanes.get", { session_id: id, lane_id });
    assertEquals(got.parent_lane_id, "main");
    assertEquals(got.deltas.map(({ text }: { text: string }) => text).join(""), "early\n");
    await rpc.call("lanes.pin", { session_id: id, lane_id, pinned: true });
    assert((await rpc.call("lanes.get", { session_id: id, lane_id })).pinned);

    const killed = await rpc.call("lanes.kill", { session_id: id, lane_id, reason: "enough" });
    assertEquals(killed, { killed: [lane_id] });
    const { data } = await client.wait(({ type }) => type === "turn.completed");
    assertEquals(data.stop_reason, "ok");
    const calls = client.of("session.tool_completed").map((event) => event.data);
    assertEquals(calls.map(({ ok }) => ok), [false, true]);
    assertEquals(calls[1].output, "after");

    const ours = client.events.filter((event) => event.data.lane_id === lane_id);
    assertEquals(ours.map(({ type, data }) => data.status ?? type), [
      "lane.created",
      "running",
      "lane.delta",
      "lane.note",
      "lane.killed",
      "cancelled",
    ]);
    assertEquals(ours[4].data, { lane_id, reason: "enough", actor: "socket" });

    await assertRejects(
      () => rpc.call("lanes.kill", { session_id: id, lane_id }),
      SvcError,
      "is already cancelled",
    );
    await assertRejects(
      () => rpc.call("lanes.kill", { session_id: id, lane_id: "main" }),
      SvcError,
      "ends with its session",
    );
    await assertRejects(
      () => rpc.call("lanes.get", { session_id: id, lane_id: "lane_x" }),
      SvcError,
      "has no lane",
    );
  },
});

Deno.test({
  name: "lanes.subscribe pushes lane events only, replay before live",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    await using client = await daemon.rpc();
    const { session_id } = await client.rpc.call("session.start", { workdir, prompt: "help" });
    await client.rpc.call("lanes.subscribe", { session_id, lane_id: "main", since_seq: 0 });
    await client.wait(({ type }) => type === "lane.delta");
    await client.rpc.call("session.send", { session_id, text: "ls" });
    await client.wait(({ type, data }) => type === "lane.delta" && data.delta_seq === 2);
    const types = new Set(client.events.map(({ type }) => type));
    assertEquals([...types].filter((type) => !type.startsWith("lane.")), []);
    const seqs = client.events.map(({ seq }) => seq);
    assertEquals(seqs, [...seqs].sort((a, b) => a - b));
  },
});
