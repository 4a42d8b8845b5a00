import { assert, assertEquals, assertMatch } from "@std/assert";
import { Place } from "../support/svc.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { connect, event, follow, http, journalOf, of, records, STAMP } from "./contract_kit.ts";
import { row } from "./row.ts";

function section5(name: string, fn: () => void | Promise<void>) {
  row("contract", "5 restart", name, fn);
}

/** A daemon with one session. */
async function begin(place: Place, params = {}) {
  const daemon = await place.serve();
  const workdir = place.mkdir("w");
  const body = { workdir, model: "builtin/toolbelt", approval: "auto", ...params };
  const { session_id } = (await http(daemon, "POST", "/v1/sessions", { body })).json;
  return { daemon, workdir, session_id, path: journalOf(workdir, session_id) };
}

const marks = (kinds: { kind: string; reason?: string }[]) =>
  kinds.filter(({ kind }) => /^(session\.(paused|resumed|ended)|daemon\.reloaded)$/.test(kind))
    .map(({ kind, reason }) => reason ? `${kind} ${reason}` : kind);

section5("graceful: what ran runs again: paused daemon_shutdown, reloaded, resumed", async () => {
  await using place = new Place();
  const { daemon, session_id, path } = await begin(place);
  await using client = await connect(daemon);
  await follow(client, session_id);
  const { seq } = await client.turn(session_id, "help");
  await client.call("daemon.shutdown", { grace_s: 5 });
  const paused = await event(client, "session.paused");
  assertEquals([paused.data.reason, paused.seq], ["daemon_shutdown", seq + 1]);
  assertEquals((await daemon.ended()).code, 0);

  const after = await place.serve();
  const got = (await http(after, "GET", `/v1/sessions/${session_id}`)).json;
  assertEquals([got.state, got.activity], ["running", "idle"]);
  const [first, second, third, ...more] = marks(records(path));
  assertEquals([first, second, more], ["session.paused daemon_shutdown", "daemon.reloaded", []]);
  assertMatch(third, /^session\.resumed /);
  await using again = await connect(after);
  await again.call("session.subscribe", { session_id, since_seq: paused.seq });
  await again.turn(session_id, "help");
  assertEquals(again.events[0].type, "daemon.reloaded");
  const at = again.events.findIndex(({ type }) => type.endsWith(".delta"));
  assert(at > 0, "no deltas after daemon.reloaded");
  assertEquals(
    again.events.map(({ seq }) => seq),
    again.events.map((_, n) => paused.seq + 1 + n),
  );
});

section5("daemon.reloaded {at, version}, in each restored journal", async () => {
  await using place = new Place();
  const { daemon, workdir, session_id } = await begin(place);
  const body = { workdir };
  const other = (await http(daemon, "POST", "/v1/sessions", { body })).json.session_id;
  await daemon.stop();
  const after = await place.serve();
  const { version } = place.discovery();
  for (const each of [session_id, other]) {
    await using client = await connect(after);
    await follow(client, each);
    const { data } = await event(client, "daemon.reloaded");
    assertEquals(Object.keys(data).sort(), ["at", "version"]);
    assertMatch(data.at, STAMP);
    const kinds = records(journalOf(workdir, each)).map(({ kind }) => kind);
    assertEquals(kinds.filter((kind) => kind === "daemon.reloaded").length, 1);
    assertEquals(data.version, version);
  }
});

section5("graceful: paused ones stay paused", async () => {
  await using place = new Place();
  const { daemon, session_id, path } = await begin(place);
  await http(daemon, "POST", `/v1/sessions/${session_id}/pause`);
  await daemon.stop();
  const after = await place.serve();
  assertEquals((await http(after, "GET", `/v1/sessions/${session_id}`)).json.state, "paused");
  assert(!marks(records(path)).some((mark) => mark.startsWith("session.resumed")));
  assertEquals((await http(after, "POST", `/v1/sessions/${session_id}/resume`)).status, 200);
});

section5("graceful: ended ones stay ended", async () => {
  await using place = new Place();
  const { daemon, session_id } = await begin(place);
  await http(daemon, "DELETE", `/v1/sessions/${session_id}`);
  await daemon.stop();
  const after = await place.serve();
  const { sessions } = (await http(after, "GET", "/v1/sessions?include_ended=true")).json;
  assertEquals(sessions.find(({ id }: { id: string }) => id === session_id).state, "ended");
});

section5("crash: runs again; a turn cut off ends with turn.completed interrupted", async () => {
  await using place = new Place();
  const { daemon, session_id } = await begin(place);
  await using client = await connect(daemon);
  await follow(client, session_id);
  await client.call("session.send", { session_id, text: "run sleep 60" });
  const { data: { turn_id } } = await event(client, "turn.started");
  const { seq } = await event(client, "session.tool_started");
  await daemon.kill();
  const after = await place.serve();
  await using again = await connect(after);
  await again.call("session.subscribe", { session_id, since_seq: seq });
  const { data } = await event(again, "turn.completed");
  assertEquals([data.turn_id, data.stop_reason], [turn_id, "interrupted"]);
  assertEquals(again.events.map(({ seq }) => seq), again.events.map((_, n) => seq + 1 + n));
  const got = (await http(after, "GET", `/v1/sessions/${session_id}`)).json;
  assertEquals([got.state, got.activity], ["running", "idle"]);
  assertEquals((await again.turn(session_id, "help")).data.stop_reason, "ok");
  assertEquals(of(again, "turn.completed").length, 2);
});

section5("crash: the text so far of the turn cut off is kept", async () => {
  const server = startOpenAiServer(() => ({ text: ["One ", "two "], hang_after: 2 }), {
    open: true,
  });
  try {
    await using place = new Place();
    place.configure(
      `[models.local]\nkind = "openai-compatible"\nbase_url = "${server.url}"\n`,
    );
    const { daemon, session_id } = await begin(place, { model: "local/m" });
    await using client = await connect(daemon);
    await follow(client, session_id);
    await client.call("session.send", { session_id, text: "count" });
    await client.event(() => {
      const text = of(client, "session.delta").map(({ data }) => data.text).join("");
      return text === "One two ";
    }, "both deltas");
    await daemon.kill();
    await using again = await connect(await place.serve());
    await follow(again, session_id);
    const { data } = await event(again, "turn.completed");
    assertEquals([data.stop_reason, data.message], ["interrupted", "One two "]);
    const { messages } = await again.call("session.transcript", { session_id });
    assert(JSON.stringify(messages).includes("One two "), JSON.stringify(messages));
  } finally {
    await server.close();
  }
});

section5("crash: paused ones stay paused, and nothing that was answered is lost", async () => {
  await using place = new Place();
  const { daemon, workdir, session_id } = await begin(place);
  const path = `/v1/sessions/${session_id}`;
  assertEquals((await http(daemon, "POST", `${path}/pause`)).status, 200);
  const body = { workdir };
  const other = (await http(daemon, "POST", "/v1/sessions", { body })).json.session_id;
  const sent = await http(daemon, "POST", `/v1/sessions/${other}/messages`, {
    body: { text: "help", client_message_id: "c-1" },
  });
  await daemon.kill();
  const after = await place.serve();
  assertEquals((await http(after, "GET", path)).json.state, "paused");
  const again = await http(after, "POST", `/v1/sessions/${other}/messages`, {
    body: { text: "help", client_message_id: "c-1" },
  });
  assertEquals([again.status, again.json], [202, sent.json]);
});
