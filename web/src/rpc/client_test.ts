/** The client against a server that does what daemons do: lose connections, change tokens, close subscribers. */
import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { until } from "../../../tests/support/scripted.ts";
import { RpcError } from "./api.ts";
import { Client } from "./client.ts";

const ignore = !granted("net");

type Json = Record<string, unknown>;
// deno-lint-ignore no-explicit-any -- what the client needs of a socket
type Any = any;

/** A daemon that is told what to answer. */
class Daemon implements AsyncDisposable {
  readonly asked: Json[] = [];
  token = "first";
  /** Tokens that were offered, also the wrong ones. */
  readonly offered: string[] = [];
  answer: (method: string, params: Json) => Json = () => ({ result: {} });
  #socket: WebSocket | undefined;
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const [, token] = request.headers.get("sec-websocket-protocol")!.split(", ");
      this.offered.push(token);
      if (token !== this.token) return new Response(null, { status: 401 });
      const { socket, response } = Deno.upgradeWebSocket(request, { protocol: "svc.proto.v1" });
      this.#socket = socket;
      socket.onmessage = ({ data }) => {
        const { id, method, params } = JSON.parse(data);
        this.asked.push({ method, params });
        const said = this.answer(method, params);
        if (said !== SILENCE) socket.send(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
      };
      return response;
    },
  );

  push(method: string, params: Json): void {
    this.#socket!.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket!.onclose = resolve);
    this.#socket!.close();
    await closed;
  }

  /** A connection to it. */
  connect(): WebSocket {
    const { port } = this.#server.addr as Deno.NetAddr;
    return new WebSocket(`ws://127.0.0.1:${port}/`, ["svc.bearer", this.token, "svc.proto.v1"]);
  }

  /** A client of it. */
  client(beat_ms?: number): Client {
    const client = new Client({ connect: () => Promise.resolve(this.connect()), beat_ms });
    client.start();
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket?.readyState === WebSocket.OPEN) await this.cut();
    await this.#server.shutdown();
  }
}

const SILENCE: Json = {};

Deno.test({
  name: "a call waits for the connection; an error comes with its code and hint",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    const client = daemon.client();
    daemon.answer = (method) =>
      method === "daemon.health" ? { result: { status: "ok" } } : {
        error: { code: -32002, message: "none", data: { svc_code: "not_found", hint: "look" } },
      };
    assertEquals((await client.call("daemon.health", {})).status, "ok");
    const error = await assertRejects(() => client.call("daemon.info", {}), RpcError);
    assertEquals([error.code, error.message, error.hint], ["not_found", "none", "look"]);
    daemon.answer = () => SILENCE;
    const late = await assertRejects(
      () => client.call("daemon.info", {}, { timeout_ms: 20 }),
      RpcError,
    );
    assertEquals(late.code, "timeout");
    client.close();
  },
});

Deno.test({
  name: "a lost connection rejects what was called and asks again what may be asked twice",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    const client = daemon.client();
    daemon.answer = () => SILENCE;
    const called = assertRejects(() => client.call("daemon.shutdown", {}), RpcError);
    const asked = client.ask("daemon.health", {});
    await until(() => daemon.asked.length === 2, "both are asked");
    daemon.answer = () => ({ result: { status: "ok" } });
    // As a new daemon has another token: it is read anew.
    daemon.token = "second";
    await daemon.cut();
    assertEquals((await called).code, "disconnected");
    assertEquals((await asked).status, "ok");
    assertEquals(daemon.offered, ["first", "second"]);
    assertEquals(client.state.value, "connected");
    client.close();
  },
});

/** A connection that is open, or at its end: it no longer sends, and is not closed yet. */
class EndingSocket {
  ends = false;
  onclose = () => {};
  #looks = 0;

  get readyState(): number {
    // Who looks without a pause would look for ever.
    if (++this.#looks > 1_000) throw new Error("asked again without a pause");
    return this.ends ? WebSocket.CLOSING : WebSocket.OPEN;
  }
}

Deno.test({
  name: "what is asked while a connection ends is asked at the next one",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    daemon.answer = () => ({ result: { status: "ok" } });
    const ending = new EndingSocket();
    const client = new Client({
      connect: () => Promise.resolve(ending.ends ? daemon.connect() : ending as Any),
    });
    client.start();
    await until(() => client.state.value === "connected", "the first connection");
    ending.ends = true;
    const asked = client.ask("daemon.health", {});
    setTimeout(() => ending.onclose());
    assertEquals((await asked).status, "ok");
    client.close();
  },
});

Deno.test({
  name: "what a daemon that is being stopped refuses is asked at the next one",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    const client = daemon.client();
    const stopping = { code: -32603, message: "stops", data: { svc_code: "shutting_down" } };
    daemon.answer = () => ({ error: stopping });
    const called = client.call("queue.pause", {});
    await until(() => daemon.asked.length === 1, "the call");
    const late = await assertRejects(
      () => client.call("daemon.info", {}, { timeout_ms: 20 }),
      RpcError,
    );
    assertEquals([late.code, late.message], ["shutting_down", "stops"]);
    daemon.answer = () => ({ result: { paused: true } });
    await daemon.cut();
    assertEquals((await called).paused, true);
    assertEquals(daemon.asked.map(({ method }) => method), [
      "queue.pause",
      "daemon.info",
      "queue.pause",
    ]);
    client.close();
  },
});

Deno.test({
  name: "a daemon that hangs is seen to, is connected once it answers, and is given up otherwise",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    const client = daemon.client(50);
    const states: string[] = [];
    client.state.subscribe((state) => void states.push(state));
    const becomes = async (state: string) => {
      const from = states.length - 1;
      await until(() => states.slice(from).includes(state), state);
    };
    let sub = 0;
    daemon.answer = () => ({ result: { sub: ++sub } });
    client.subscribe("bus.tail", { params: () => ({}), event() {}, ended() {} });
    await until(() => daemon.asked.length > 3, "signs that are asked for");
    daemon.answer = () => SILENCE;
    await becomes("silent");
    daemon.push("$/event", { sub: 1 });
    await becomes("connected");
    const called = assertRejects(() => client.call("daemon.info", {}), RpcError);
    await becomes("reconnecting");
    assertEquals((await called).code, "disconnected");
    const tails = () => daemon.asked.filter(({ method }) => method === "bus.tail").length;
    const before = tails();
    daemon.answer = () => ({ result: { sub: ++sub } });
    await becomes("connected");
    await until(() => tails() > before, "the subscription");
    client.close();
  },
});

Deno.test({
  name: "a subscription goes on after a reconnection, a stop, and being closed for being slow",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    const client = daemon.client();
    let sub = 0;
    daemon.answer = () => ({ result: { sub: ++sub, current_seq: 0 } });
    let last = 0;
    const ended: unknown[] = [];
    const stop = client.subscribe("session.subscribe", {
      params: () => ({ session_id: "s", since_seq: last }),
      event: ({ seq }) => last = seq!,
      ended: (error) => ended.push(error?.code),
    });
    const subscribed = (count: number) => until(() => daemon.asked.length === count, "a call");
    const since = () => (daemon.asked.at(-1)!.params as Json).since_seq;
    await subscribed(1);
    daemon.push("$/event", { sub: 1, seq: 5 });
    await until(() => last === 5, "the event");
    await daemon.cut();
    await subscribed(2);
    assertEquals(since(), 5);
    daemon.push("$/event", { sub: 1, seq: 6 });
    daemon.push("$/event", { sub: 2, seq: 7 });
    daemon.push("$/subscription_ended", {
      sub: 2,
      error: { code: -32008, message: "slow", data: { svc_code: "crash_recovery" } },
    });
    await subscribed(3);
    assertEquals([since(), ended], [7, []]);
    const stopping = { code: -32603, message: "stops", data: { svc_code: "shutting_down" } };
    daemon.push("$/subscription_ended", { sub: 3, error: stopping });
    await daemon.cut();
    await subscribed(4);
    assertEquals([since(), ended], [7, []]);
    daemon.push("$/subscription_ended", {
      sub: 4,
      error: { code: -32011, message: "trimmed", data: { svc_code: "journal_trimmed" } },
    });
    await until(() => ended.length === 1, "the end");
    assertEquals(ended, ["journal_trimmed"]);
    stop();
    client.close();
  },
});

Deno.test({
  name: "a subscription that is given up is taken back",
  ignore,
  async fn() {
    await using daemon = new Daemon();
    const client = daemon.client();
    daemon.answer = () => ({ result: { sub: 9 } });
    const stop = client.subscribe("bus.tail", { params: () => ({}), event() {}, ended() {} });
    await until(() => daemon.asked.length === 1, "the subscription");
    await client.call("daemon.health", {});
    stop();
    await until(() => daemon.asked.length === 3, "its end");
    assertEquals(daemon.asked[2], { method: "session.unsubscribe", params: { sub: 9 } });
    client.close();
  },
});
