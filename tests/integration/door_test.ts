import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { join } from "@std/path";
import { TextLineStream } from "@std/streams";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";
import { rawHttp } from "../support/raw.ts";
import { Scenario } from "../support/scripted.ts";

const ignore = !can_run_svc;
const JSON_TYPE = { "content-type": "application/json" };
const NO_SESSION = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV";
// deno-lint-ignore no-explicit-any -- what comes over the wire is asserted field by field
type Json = any;

function assertSecured(headers: Headers, what: string): void {
  assertEquals(headers.get("x-content-type-options"), "nosniff", what);
  assertEquals(headers.get("referrer-policy"), "no-referrer", what);
  assertStringIncludes(headers.get("vary") ?? "", "Origin", what);
}

Deno.test({
  name: "every route of the table answers as it says, with the security headers",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    const call = async (method: string, path: string, body?: unknown, status?: number) => {
      const answer = await daemon.http(method, path, body);
      const what = `${method} ${path} ${JSON.stringify(answer.json)}`;
      assertSecured(answer.headers, what);
      if (status !== undefined) assertEquals(answer.status, status, what);
      if (answer.status >= 400) {
        assertMatch(answer.json.error.code, /^[a-z_]+$/, what);
        assert(answer.json.error.message.length > 5, what);
        assertEquals(Object.keys(answer.json), ["error"]);
      }
      return answer;
    };
    const code = async (method: string, path: string, body: unknown, status: number) =>
      (await call(method, path, body, status)).json.error.code;

    const created = await call("POST", "/v1/sessions", { workdir, title: "mine" }, 201);
    const { session_id, started_at, ...rest } = created.json;
    assertEquals(rest, { workdir });
    assert(!Number.isNaN(Date.parse(started_at)));
    const path = `/v1/sessions/${session_id}`;
    assertEquals(created.headers.get("location"), path);

    const list = await call("GET", "/v1/sessions", undefined, 200);
    assertEquals(list.json.sessions.map(({ id }: Json) => id), [session_id]);
    const got = (await call("GET", path, undefined, 200)).json;
    for (const name of ["cost_usd", "tokens_in", "tokens_out", "messages_count"]) {
      assertEquals(got[name], 0, name);
    }
    assertEquals([got.title, got.approval, got.pending_approvals], ["mine", "ask", []]);

    const sent = await call("POST", `${path}/messages`, { text: "help" }, 202);
    assertEquals(Object.keys(sent.json), ["message_id", "seq"]);
    assertEquals(
      (await call("POST", `${path}/cancel`, undefined, 200)).json.cancelled !== undefined,
      true,
    );
    assert("paused_at" in (await call("POST", `${path}/pause`, {}, 200)).json);
    assertEquals(await code("POST", `${path}/pause`, {}, 409), "conflict");
    assertEquals(await code("POST", `${path}/messages`, { text: "x" }, 409), "conflict");
    assert("resumed_at" in (await call("POST", `${path}/resume`, undefined, 200)).json);
    assertEquals(await code("POST", `${path}/resume`, undefined, 409), "conflict");

    for (const bad of [{}, { text: "" }, { text: 7 }, { text: "x", client_message_id: "" }]) {
      assertEquals(await code("POST", `${path}/messages`, bad, 400), "validation");
    }
    assertEquals(await code("POST", "/v1/sessions", {}, 400), "validation");
    assertEquals(await code("POST", "/v1/sessions", [], 400), "validation");
    assertEquals(await code("POST", "/v1/sessions", { workdir, model: "x" }, 400), "validation");
    assertEquals(
      await code("POST", "/v1/sessions", { workdir, approval: "no" }, 400),
      "validation",
    );
    for (
      const [method, tail] of [
        ["GET", ""],
        ["DELETE", ""],
        ["GET", "/events"],
        ["POST", "/cancel"],
        ["POST", "/pause"],
        ["POST", "/resume"],
      ]
    ) {
      assertEquals(
        await code(method, `/v1/sessions/${NO_SESSION}${tail}`, undefined, 404),
        "not_found",
      );
    }
    assertEquals(await code("GET", "/v1/nothing", undefined, 404), "not_found");

    for (
      const [method, at, allow] of [
        ["PUT", "/v1/sessions", "POST, GET"],
        ["DELETE", "/v1/sessions", "POST, GET"],
        ["PATCH", path, "GET, DELETE"],
        ["GET", `${path}/messages`, "POST"],
        ["POST", `${path}/events`, "GET"],
        ["GET", "/v1/rpc", "POST"],
        ["POST", "/v1/health", "GET"],
      ]
    ) {
      const answer = await call(method, at, undefined, 405);
      assertEquals(answer.json.error.code, "method_not_allowed");
      const allowed = answer.headers.get("allow")!.split(/,\s*/).sort();
      assertEquals(allowed, allow.split(", ").sort(), `${method} ${at}`);
    }

    assertEquals((await call("DELETE", path, undefined, 204)).json, undefined);
    assertEquals(await code("DELETE", path, undefined, 410), "ended");
    assertEquals(await code("POST", `${path}/messages`, { text: "x" }, 410), "ended");
    assertEquals((await call("GET", "/v1/sessions")).json.sessions, []);
    const all = await call("GET", "/v1/sessions?include_ended=true");
    assertEquals(all.json.sessions.map(({ state }: Json) => state), ["ended"]);
    await call("GET", "/v1/health", undefined, 200);
  },
});

Deno.test({
  name: "bodies that are no JSON, of another type, or too large are refused",
  ignore,
  async fn() {
    await using place = new Place();
    const { port, token } = await place.serve();
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ["/v1/sessions", "/v1/rpc"]) {
      for (const type of [undefined, "text/plain", "application/x-www-form-urlencoded"]) {
        const with_type = { ...headers, "content-type": type };
        const answer = await rawHttp(port, "POST", path, with_type, '{"workdir":"/tmp"}');
        assertEquals(answer.status, 415, `${path} ${type}`);
        assertEquals(JSON.parse(answer.body).error.code, "unsupported_media_type");
        assertSecured(answer.headers, path);
      }
      const large = `"${"x".repeat(8 * 1024 * 1024)}"`;
      for (const encoding of [undefined, "chunked"]) {
        const body = encoding ? `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n` : large;
        const length = encoding ? { "content-length": undefined } : {};
        const as = { ...headers, ...JSON_TYPE, ...length, "transfer-encoding": encoding };
        const answer = await rawHttp(port, "POST", path, as, body);
        assertEquals([answer.status, encoding], [413, encoding], path);
        assertEquals(JSON.parse(answer.body).error.code, "payload_too_large");
      }
    }
    const type = { ...headers, "content-type": "Application/JSON; charset=utf-8" };
    const broken = await rawHttp(port, "POST", "/v1/sessions", type, "{");
    assertEquals([broken.status, JSON.parse(broken.body).error.code], [400, "validation"]);
    const anonymous = await rawHttp(port, "GET", "/v1/sessions");
    assertEquals(anonymous.status, 401);
    assertSecured(anonymous.headers, "401");
    const foreign = await rawHttp(port, "GET", "/v1/health", { host: "evil.example" });
    assertEquals(foreign.status, 403);
    assertSecured(foreign.headers, "403");
  },
});

interface Sse {
  id?: string;
  event?: string;
  data?: string;
}

/** Reads server-sent events until `last` is there. */
async function readSse(
  daemon: Daemon,
  path: string,
  last: (event: Sse) => boolean,
  headers: Record<string, string> = {},
): Promise<Sse[]> {
  const stop = new AbortController();
  const authorization = `Bearer ${daemon.token}`;
  const response = await fetch(`${daemon.url}${path}`, {
    headers: { authorization, ...headers },
    signal: stop.signal,
  });
  assertEquals([response.status, response.headers.get("content-type")], [200, "text/event-stream"]);
  assertSecured(response.headers, path);
  const lines = response.body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  const events: Sse[] = [];
  let event: Sse = {};
  for await (const line of lines) {
    const [, field, value] = line.match(/^(id|event|data): ?(.*)$/) ?? [];
    if (field) event[field as keyof Sse] = value;
    if (line !== "" || event.data === undefined) continue;
    events.push(event);
    if (last(event)) break;
    event = {};
  }
  stop.abort();
  return events;
}

Deno.test({
  name:
    "every subscriber gets exactly the journal's events, replay before live, on every transport",
  ignore,
  async fn() {
    const words = { text: Array(60).fill("word "), pace_ms: 5 };
    await using it = await Scenario.begin([words, words, words]);
    const path = `/v1/sessions/${it.session_id}/events`;
    await it.turn("one");
    const first_end = it.client.events.at(-1)!.seq;
    const second = it.turn("two");
    await it.client.wait(({ type, seq }) => type === "session.delta" && seq > first_end + 10);

    // All of these begin while deltas stream.
    await using late = await it.daemon.rpc();
    const { session_id } = it;
    await late.rpc.call("session.subscribe", { session_id, since_seq: 7 });
    await using lane = await it.daemon.rpc();
    await lane.rpc.call("session.subscribe", { session_id, since_seq: 0, deltas: "lane" });
    await using plain = await it.daemon.rpc();
    await plain.rpc.call("session.subscribe", { session_id, since_seq: 0, deltas: "session" });
    const ended = ({ event, id }: Sse) => event === "turn.completed" && Number(id) > first_end;
    const streams = Promise.all([
      readSse(it.daemon, `${path}?since_seq=0`, ended),
      readSse(it.daemon, `${path}?since_seq=3`, ended, { "last-event-id": "12" }),
    ]);
    const end = await second;
    const [all, since_12] = await deadline(streams, 60_000);
    for (const client of [late, lane, plain]) {
      await client.wait(({ seq }) => seq === end.seq, "the last event");
    }

    const file = join(it.workdir, ".svc", "sessions", session_id, "journal.ndjson");
    const records = Deno.readTextFileSync(file).trim().split("\n").map((line) => JSON.parse(line));
    const seqs = (since: number, without?: string) =>
      records.filter(({ seq, kind, lane_id }) =>
        seq > since && seq <= end.seq &&
        !(kind === without && (lane_id ?? "main") === "main")
      ).map(({ seq }) => seq);
    assertEquals(records.map(({ seq }) => seq), records.map((_, n) => n + 1));
    assertEquals(it.client.events.map(({ seq }) => seq), seqs(0));
    assertEquals(late.events.map(({ seq }) => seq), seqs(7));
    assertEquals(lane.events.map(({ seq }) => seq), seqs(0, "session.delta"));
    assertEquals(plain.events.map(({ seq }) => seq), seqs(0, "lane.delta"));
    assertEquals(all.map(({ id }) => Number(id)), seqs(0));
    assertEquals(since_12.map(({ id }) => Number(id)), seqs(12));
    assert(lane.of("lane.delta").length > 10 && plain.of("session.delta").length > 10);
    for (const [n, { id, event, data }] of all.entries()) {
      const { sub: _, ...pushed } = it.client.events[n];
      assertEquals(JSON.parse(data!), pushed);
      assertEquals([Number(id), event], [pushed.seq, pushed.type]);
    }
    // Nothing is pushed twice when a client subscribes again where it stopped.
    await using again = await it.daemon.rpc();
    await again.rpc.call("session.subscribe", { session_id, since_seq: end.seq });
    const third = await it.turn("three");
    await again.wait(({ seq }) => seq === third.seq);
    assertEquals(again.events.map(({ seq }) => seq)[0], end.seq + 1);
    assertEquals(again.events.length, third.seq - end.seq);

    for (const query of ["since_seq=x", "since_seq=-1", "since_seq=99999", "deltas=some"]) {
      const { status, json } = await it.daemon.http("GET", `${path}?${query}`);
      assertEquals([status, json.error.code], [400, "validation"], query);
    }
  },
});

Deno.test({
  name: "a workdir that will not do is refused, saying which rule it breaks",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    Deno.writeTextFileSync(join(place.dir, "file"), "");
    Deno.symlinkSync(place.home, join(place.dir, "to-home"));
    const bad: [string, string][] = [
      ["project", "absolute"],
      ["~/project", "absolute"],
      [join(place.dir, "missing"), "does not exist"],
      [join(place.dir, "file"), "not a directory"],
      [place.home, "home of svc"],
      [join(place.home, "journals"), "home of svc"],
      [join(place.dir, "to-home"), "home of svc"],
      [join(place.dir, "a\0b"), "NUL"],
      // Nobody can write there, not even root.
      ...(Deno.build.os === "linux"
        ? [["/proc/self/task", "not writable"], ["/dev/shm", "below /dev"]] as [string, string][]
        : []),
    ];
    for (const [workdir, rule] of bad) {
      const { status, json } = await daemon.http("POST", "/v1/sessions", { workdir });
      assertEquals([status, json.error.code], [400, "validation"], workdir);
      assertStringIncludes(json.error.message, rule);
    }
    // Two sessions may share one; a link is followed to where it leads.
    const workdir = place.mkdir("project");
    Deno.symlinkSync(workdir, join(place.dir, "link"));
    for (const at of [workdir, join(place.dir, "link"), `${workdir}/../project/`]) {
      const { status, json } = await daemon.http("POST", "/v1/sessions", { workdir: at });
      assertEquals([status, json.workdir], [201, workdir]);
    }
    assertEquals(Deno.readTextFileSync(join(workdir, ".svc", ".gitignore")), "*\n");
    assertEquals([...Deno.readDirSync(workdir)].map(({ name }) => name), [".svc"]);
  },
});
