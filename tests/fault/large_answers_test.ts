/**
 * Many clients ask for a whole conversation at once, in batches, one request after the other, or
 * without reading: the daemon makes room for their answers, and others are answered meanwhile.
 */
import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async";
import { writeAll } from "../../src/base/write_all.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const MB = 1024 * 1024;
const MESSAGES = 12;
const CLIENTS = 24;
/** As many as take all the room. */
const SILENT = 8;
/** A daemon that knew no bound took over three times this; beside other work V8 collects later. */
const PEAK_MAX = 800 * MB;
/** Clients of the local socket, and how much each asks for without waiting for an answer. */
const PIPELINING = { clients: 200, requests: 4, peak: 600 * MB };

function peak({ pid }: Daemon): number {
  const [, kb] = Deno.readTextFileSync(`/proc/${pid}/status`).match(/VmHWM:\s+(\d+)/)!;
  return Number(kb) * 1024;
}

/** A session with a long conversation. */
async function long(place: Place, daemon: Daemon): Promise<string> {
  await using client = await daemon.rpc();
  const session_id = await client.session({ workdir: place.mkdir("project"), approval: "auto" });
  for (let n = 0; n < MESSAGES; n++) await client.turn(session_id, `ls\n${"x".repeat(MB)}`);
  return session_id;
}

function requests(session_id: string, count: number) {
  return Array.from({ length: count }, (_, id) => ({
    jsonrpc: "2.0",
    id,
    method: id % 2 === 0 ? "session.transcript" : "session.history",
    params: { session_id },
  }));
}

Deno.test({
  name: "clients that ask for everything at once wait for room, and each gets its answers",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const session_id = await long(place, daemon);
    const batch = JSON.stringify(requests(session_id, 16));
    const ask = async () => {
      const { status, json } = await daemon.http("POST", "/v1/rpc", JSON.parse(batch));
      assertEquals([status, json.length], [200, 16]);
      // deno-lint-ignore no-explicit-any -- JSON-RPC
      const codes = json.map(({ result, error }: any) => result ? "made" : error.data.svc_code);
      assert(codes.includes("made"));
      assert(codes.every((it: string) => ["made", "payload_too_large"].includes(it)), codes);
    };
    await Promise.all(Array.from({ length: CLIENTS }, ask));
    assert(peak(daemon) < PEAK_MAX, `${peak(daemon) / MB} MB`);
  },
});

/** Reads so many lines, and keeps none of them. */
async function readLines(conn: Deno.Conn, count: number): Promise<void> {
  const bytes = new Uint8Array(256 * 1024);
  for (let left = count; left > 0;) {
    const read = await conn.read(bytes);
    if (read === null) throw new Error(`${left} of ${count} answers did not come`);
    for (let at = -1; (at = bytes.subarray(0, read).indexOf(10, at + 1)) >= 0;) left--;
  }
}

Deno.test({
  name: "two hundred clients of the local socket each ask for everything, four times at once",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const session_id = await long(place, daemon);
    const { clients, requests: count, peak: most } = PIPELINING;
    const asks = Array.from({ length: count }, (_, id) => {
      return { jsonrpc: "2.0", id, method: "session.transcript", params: { session_id } };
    });
    const lines = new TextEncoder().encode(asks.map((it) => `${JSON.stringify(it)}\n`).join(""));
    await Promise.all(Array.from({ length: clients }, async () => {
      using conn = await Deno.connect({ transport: "unix", path: daemon.sock });
      await writeAll(conn, lines);
      await readLines(conn, count);
    }));
    assert(peak(daemon) < most, `${peak(daemon) / MB} MB`);
  },
});

Deno.test({
  name: "peers that ask for everything and read nothing keep no room from others",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const session_id = await long(place, daemon);
    const path = place.discovery().sock;
    const lines = requests(session_id, 16).map((it) => `${JSON.stringify(it)}\n`).join("");
    const silent: Deno.Conn[] = [];
    try {
      for (let n = 0; n < SILENT; n++) {
        const conn = await Deno.connect({ transport: "unix", path });
        await conn.write(new TextEncoder().encode(lines));
        silent.push(conn);
      }
      await using client = await daemon.rpc();
      assertEquals((await client.rpc.call("daemon.health")).status, "ok");
      // They are cut off when somebody else has waited for a while.
      const asked = client.rpc.call("session.transcript", { session_id });
      assert((await deadline(asked, 120_000)).messages.length > 0);
      assert(peak(daemon) < PEAK_MAX, `${peak(daemon) / MB} MB`);
    } finally {
      for (const conn of silent) conn.close();
    }
  },
});

Deno.test({
  name: "a conversation that is too long for one answer comes in pages",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const session_id = await long(place, daemon);
    await using client = await daemon.rpc();
    const texts: string[] = [];
    for (let skip = 0, left = 1; left > 0;) {
      const page = await client.rpc.call("session.transcript", { session_id, skip });
      assert(JSON.stringify(page).length < 6_000_000);
      // deno-lint-ignore no-explicit-any -- messages
      texts.unshift(...page.messages.map((it: any) => `${it.role} ${it.text?.length}`));
      skip += page.messages.length;
      left = page.left_out;
    }
    // Of more than 16 million characters, the older half is not kept.
    assert(texts.filter((it) => it === `user ${MB + 3}`).length >= MESSAGES / 2);
    const { messages, left_out } = await client.rpc.call("session.transcript", {
      session_id,
      last: 1,
    });
    assertEquals([messages.length, left_out], [1, texts.length - 1]);
  },
});
