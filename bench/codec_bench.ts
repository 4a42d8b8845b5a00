/** What every request and every event costs: `deno bench bench/codec_bench.ts`. */
import * as z from "zod";
import { Guards } from "../src/doors/guards.ts";
import { answer, eventFrame } from "../src/doors/rpc/codec.ts";
import type { Published } from "../src/session/subscription.ts";
import { encodeRecord } from "../src/session/record.ts";
import { bind, Dispatcher, verbsOf } from "../src/verbs/define.ts";

const PORT = 49_152;
const token = "0123456789abcdef".repeat(4);

const echo = verbsOf<unknown>()({
  name: "bench.echo",
  summary: "Gives back what it takes.",
  access: "read",
  input: () => z.object({ session_id: z.string(), limit: z.int().optional() }),
  output: () => z.object({ session_id: z.string() }),
  handle: (_context, { session_id }) => ({ session_id }),
});
const dispatcher = new Dispatcher(bind([echo], undefined));
const answering = { dispatcher, caller: { via: "socket" as const }, call: new AbortController() };
const params = { session_id: "sess_01JZZZZZZZZZZZZZZZZZZZZZZZ", limit: 10 };
const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "bench.echo", params });
const batch = `[${Array(100).fill(request).join(",")}]`;

Deno.bench("JSON-RPC answer", { group: "codec" }, async () => {
  await answer(request, answering, () => {});
});
Deno.bench("JSON-RPC answer, batch of 100", { group: "codec" }, async () => {
  await answer(batch, answering, () => {});
});
Deno.bench("JSON-RPC answer, parameters that do not fit", { group: "codec" }, async () => {
  await answer('{"jsonrpc":"2.0","id":1,"method":"bench.echo"}', answering, () => {});
});

const guards = new Guards({ port: PORT, token, allowed_origins: [] });
const headers = new Headers({
  host: `127.0.0.1:${PORT}`,
  origin: `http://127.0.0.1:${PORT}`,
  authorization: `Bearer ${token}`,
});
const asked = { headers, url: `http://127.0.0.1:${PORT}/v1/health` };
Deno.bench("guards: Host, Origin", { group: "guards" }, () => {
  if (!guards.host(asked) || !guards.origin(null)) throw new Error("refused");
});
Deno.bench("guards: bearer token", { group: "guards" }, () => {
  if (!guards.bearer(headers)) throw new Error("refused");
});

const data = { turn_id: "turn_01JZZZZZZZZZZZZZZZZZZZZZZZ", text: "a few words " };
const event: Published = {
  seq: 1000,
  at: "2026-01-01T00:00:00.000Z",
  type: "session.delta",
  data,
  session_id: "sess_01JZZZZZZZZZZZZZZZZZZZZZZZ",
  data_json: JSON.stringify(data),
};
Deno.bench("event: $/event frame", { group: "event" }, () => {
  eventFrame(1, event);
});
Deno.bench("event: journal record", { group: "event" }, () => {
  encodeRecord(event, event.data_json);
});
