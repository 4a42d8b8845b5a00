/** product.md, Events: what is emitted when, and how it is delivered. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { firstLine } from "../support/processes.ts";
import { Place, spawnSvc } from "../support/svc.ts";
import { SseReader, WsClient } from "./client.ts";
import { row } from "./row.ts";
import { journalPath, readJournal, Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Events";

row("product", SECTION, "delivery over WebSocket, SSE, or JSON-RPC subscriptions", async () => {
  await using socket = await shared.socket();
  const id = await socket.session({ workdir: shared.workdir() });
  await using ws = await WsClient.connect(shared.daemon.port, shared.daemon.token);
  await ws.call("session.subscribe", { session_id: id, since_seq: 0 });
  await using sse = await SseReader.open(`${shared.daemon.url}/v1/sessions/${id}/events`, {
    authorization: `Bearer ${shared.daemon.token}`,
    "last-event-id": "0",
  });
  const { seq } = await socket.turn(id, "help");
  await ws.event((it) => it.seq === seq);
  await sse.until("turn.completed");
  const seen = socket.events.map((it) => `${it.seq} ${it.type}`);
  assertEquals(ws.events.map((it) => `${it.seq} ${it.type}`), seen);
  assertEquals(sse.events.map((it) => `${it.id} ${it.event}`), seen);
});

row("product", SECTION, "seq increases monotonically, for each session its own", async () => {
  await using client = await shared.socket();
  const ids = await Promise.all(
    [1, 2, 3].map(() => client.session({ workdir: shared.workdir(), approval: "auto" })),
  );
  await Promise.all(ids.map((id) => client.turn(id, "ls\nrun echo\nhelp")));
  for (const id of ids) {
    const seqs = client.events.filter((it) => it.session_id === id).map(({ seq }) => seq);
    assertEquals(seqs, seqs.map((_, n) => n + 1));
  }
});

row("product", SECTION, "session.ended: a session ends; journal flushed", async () => {
  await using client = await shared.socket();
  const workdir = shared.workdir();
  const session_id = await client.session({ workdir });
  await client.call("session.kill", { session_id });
  const { seq } = await client.event((it) => it.type === "session.ended");
  const last = readJournal(journalPath(workdir, session_id)).at(-1);
  assertEquals([last.kind, last.seq], ["session.ended", seq]);
});

row("product", SECTION, "daemon.listening: NDJSON on stdout, the chosen port", async () => {
  await using place = new Place();
  const child = spawnSvc(place, ["serve", "--emit-port-stdout"]);
  const { event, port } = JSON.parse(await firstLine(child));
  assertEquals(event, "daemon.listening");
  assertEquals(port, place.discovery().port);
  using _ready = await Deno.connect({ hostname: "127.0.0.1", port });
  child.kill("SIGTERM");
  await child.output();
});

row("product", SECTION, "session.delta: assistant-text deltas of the main lane", async () => {
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir() });
  const { data } = await client.turn(id, "help");
  const texts = client.events.filter((it) => it.type === "session.delta").map((it) => it.data.text);
  assert(texts.length > 0 && texts.every((it) => typeof it === "string"));
  assertStringIncludes(texts.join(""), data.message);
});

row("product", SECTION, "lane.delta: the preferred replacement for session.delta", async () => {
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir() });
  await client.turn(id, "help");
  const of = (type: string) => client.events.filter((it) => it.type === type);
  const said = of("session.delta").map((it) => it.data.text).join("");
  const lane = JSON.stringify(of("lane.delta").map((it) => it.data.content_block));
  assert(said !== "");
  for (const line of said.split("\n")) {
    assertStringIncludes(lane, JSON.stringify(line).slice(1, -1));
  }
});

row(
  "product",
  SECTION,
  "1. lane events are additive, with the fields of other events",
  async () => {
    await using client = await shared.socket();
    const workdir = shared.workdir();
    const id = await client.session({ workdir, approval: "auto" });
    const turn = client.turn(id, "run until [ -e go ]; do sleep 0.1; done; echo done");
    // Its own lane, which it gets once it has taken a while.
    await client.event((it) => it.type === "lane.created" && it.data.kind === "tool");
    Deno.writeTextFileSync(join(workdir, "go"), "");
    await turn;
    const fields = (lane: boolean) =>
      new Set(
        client.events.filter((it) => it.type.startsWith("lane.") === lane)
          .map((it) => Object.keys(it).sort().join()),
      );
    assert(client.events.some((it) => it.type === "lane.created"));
    assertEquals(fields(true), fields(false));
  },
);

row("product", SECTION, "1. session.delta goes on carrying main-lane text", async () => {
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir() });
  await client.turn(id, "help");
  const types = new Set(client.events.map((it) => it.type));
  assert(types.has("session.delta") && types.has("lane.delta"));
});

row("product", "Versioning", "7. lane.delta is preferred over session.delta", async () => {
  await using client = await shared.socket();
  const { session_id } = await client.call("session.start", { workdir: shared.workdir() });
  const params = { session_id, since_seq: 0, deltas: "lane" };
  await client.call("session.subscribe", params);
  await client.turn(session_id, "help");
  const types = new Set(client.events.map((it) => it.type));
  assert(types.has("lane.delta") && !types.has("session.delta"));
});
