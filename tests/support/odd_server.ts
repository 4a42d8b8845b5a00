/** Servers of models that answer as they are told, byte for byte. */
import { join } from "@std/path";
import { Place, type TestClient } from "./svc.ts";

// deno-lint-ignore no-explicit-any -- bodies as they are sent
export type Json = any;

/** Events of a stream; texts are sent as they are. */
export const sse = (...events: Json[]): string =>
  events.map((it) => `data: ${typeof it === "string" ? it : JSON.stringify(it)}\n\n`).join("");

/** What a server sends; default: a stream of events, with 200. */
export interface Sent {
  body: string;
  type?: string;
  status?: number;
}

/** A wire format: what a daemon is told of its server, and how a conversation goes on. */
export interface Dialect {
  kind: "openai" | "openai-compatible" | "anthropic" | "google";
  /** More lines of its table in daemon.toml. */
  toml?: string;
  /** The outputs of the calls in a request. */
  results(body: Json): string[];
  /** An exact answer of text. */
  says(text: string): string;
}

export const CHAT_DIALECT: Dialect = {
  kind: "openai-compatible",
  results: ({ messages }) =>
    messages.filter(({ role }: Json) => role === "tool").map(({ content }: Json) => content),
  says: (content) =>
    sse({ choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] }, "[DONE]"),
};

export const ANTHROPIC_DIALECT: Dialect = {
  kind: "anthropic",
  results: ({ messages }) =>
    messages.flatMap(({ content }: Json) => Array.isArray(content) ? content : [])
      .filter(({ type }: Json) => type === "tool_result")
      .map(({ content }: Json) => JSON.stringify(content)),
  says: (text) =>
    sse(
      { type: "message_start", message: { id: "m", usage: { input_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ),
};

export const GOOGLE_DIALECT: Dialect = {
  kind: "google",
  results: ({ contents }) =>
    contents.flatMap(({ parts }: Json) => parts)
      .flatMap(({ functionResponse }: Json) => functionResponse ?? [])
      .map(({ response }: Json) => JSON.stringify(response)),
  says: (text) =>
    sse({ candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }] }),
};

export const RESPONSES_DIALECT: Dialect = {
  kind: "openai",
  toml: 'api = "responses"\n',
  results: ({ input }) =>
    input.filter(({ type }: Json) => type === "function_call_output")
      .map(({ output }: Json) => JSON.stringify(output)),
  says(text) {
    const item = { type: "message", id: "msg_1", role: "assistant", content: [] };
    const at = { item_id: "msg_1", output_index: 0 };
    return sse(
      { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_text.delta", ...at, content_index: 0, delta: text },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id: "r", usage: null } },
    );
  },
};

/** A daemon with a server that answers the first request of a turn as it is told. */
export async function beginOdd({ kind, toml = "", results, says }: Dialect) {
  let first: (asked: number, body: Json) => Sent = () => ({ body: "" });
  const bodies: Json[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body = await request.json();
    bodies.push(body);
    const given = results(body);
    const { body: text, type = "text/event-stream", status = 200 } = given.length === 0
      ? first(bodies.length, body)
      : { body: says(`It says ${given[0].includes("42")}.`) };
    return new Response(text, { status, headers: { "content-type": type } });
  });
  const place = new Place();
  place.configure(
    `[cortex]\ncurator = false\n[agent]\ntitles = false\n[models.odd]\nkind = "${kind}"\n` +
      `base_url = "http://127.0.0.1:${server.addr.port}/v1"\napi_key_env = "ODD_KEY"\n${toml}`,
  );
  place.env.ODD_KEY = "sk-the-key-of-the-test";
  const workdir = place.mkdir("project");
  Deno.writeTextFileSync(join(workdir, "notes.txt"), "The number is 42.\n");
  const daemon = await place.serve();
  const client: TestClient = await daemon.rpc();
  return {
    client,
    /** Runs a turn in a session of its own. */
    async turn(answer: Sent | ((asked: number, body: Json) => Sent)) {
      first = typeof answer === "function" ? answer : () => answer;
      bodies.length = 0;
      const id = await client.session({ workdir, model: "odd/m", approval: "auto" });
      const { data } = await client.turn(id, "Which number is in notes.txt?");
      const events = client.events.filter(({ session_id }) => session_id === id);
      return { data, events, bodies: [...bodies] };
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}
