import { assertEquals, assertRejects } from "@std/assert";
import { RpcClient } from "../client/rpc.ts";
import { SvcError } from "../protocol/errors.ts";
import { DaemonLink } from "./link.ts";

interface Request {
  id: number;
  method: string;
}

/** The daemon's end of a connection. */
class FakeDaemon {
  readonly rpc: RpcClient;
  readonly asked: string[] = [];
  closed = false;
  readonly #answer: (request: Request) => Record<string, unknown>;
  readonly #lines = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
  readonly #writer = this.#lines.writable.getWriter();

  /** @param answer the `result` or the `error` of a request. */
  constructor(answer: (request: Request) => Record<string, unknown>) {
    this.#answer = answer;
    this.rpc = new RpcClient(
      {
        readable: this.#lines.readable,
        write: (bytes: Uint8Array) => this.#take(bytes),
        close: () => this.#close(),
      } as ConstructorParameters<typeof RpcClient>[0],
    );
  }

  tell(message: Record<string, unknown>): void {
    this.#writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)).catch(() => {});
  }

  #take(bytes: Uint8Array): Promise<number> {
    const request: Request = JSON.parse(new TextDecoder().decode(bytes));
    this.asked.push(request.method);
    this.tell({ id: request.id, ...this.#answer(request) });
    return Promise.resolve(bytes.length);
  }

  #close(): void {
    this.closed = true;
    this.#writer.close().catch(() => {});
  }
}

const WORKS = { result: { sub: 1, current_seq: 0 } };
const REFUSED = { error: { code: -32603, message: "no more", data: { svc_code: "internal" } } };
const NOT_KEPT_UP = {
  method: "$/subscription_ended",
  params: {
    sub: 1,
    error: { code: -32603, message: "slow", data: { svc_code: "crash_recovery" } },
  },
};

Deno.test("a subscription that cannot be made again is told of as lost", async () => {
  const answers = [WORKS, REFUSED];
  const daemon = new FakeDaemon(() => answers.shift()!);
  const lost = Promise.withResolvers<unknown>();
  const link = new DaemonLink({
    connect: () => Promise.resolve(daemon.rpc),
    onEvent() {},
    awaited: () => false,
    onLost: lost.resolve,
  });
  await link.follow("sess_1", 0);
  daemon.tell(NOT_KEPT_UP);
  assertEquals((await lost.promise as SvcError).message, "no more");
  assertEquals(daemon.asked, ["session.subscribe", "session.subscribe"]);
  link.close();
  await daemon.rpc.closed;
});

Deno.test("a connection over which nothing can be followed is closed, and another is made", async () => {
  const daemons = [WORKS, REFUSED, WORKS].map((answer) => new FakeDaemon(() => answer));
  const [first, refusing, last] = daemons;
  const left = [...daemons];
  const link = new DaemonLink({
    connect: () => Promise.resolve(left.shift()!.rpc),
    onEvent() {},
    awaited: () => false,
    onLost() {},
  });
  await link.follow("sess_1", 0);
  first.rpc.close();
  await first.rpc.closed;
  const get = () => link.call("session.get", { session_id: "sess_1" });
  await assertRejects(get, SvcError, "no more");
  assertEquals([refusing.closed, refusing.asked], [true, ["session.subscribe"]]);
  await get();
  assertEquals(last.asked, ["session.subscribe", "session.get"]);
  link.close();
  await Promise.all(daemons.map(({ rpc }) => rpc.closed));
});

Deno.test("what takes effect once is delivered to the next daemon if this one stops or is lost", async () => {
  const STOPS = { error: { code: -32000, message: "stops", data: { svc_code: "shutting_down" } } };
  const stopping: FakeDaemon = new FakeDaemon(() => {
    setTimeout(() => stopping.rpc.close());
    return STOPS;
  });
  const lost: FakeDaemon = new FakeDaemon(() => {
    lost.rpc.close();
    return {};
  });
  const daemons = [stopping, lost, new FakeDaemon(() => WORKS), new FakeDaemon(() => REFUSED)];
  const left = [...daemons];
  const link = new DaemonLink({
    connect: () => Promise.resolve(left.shift()!.rpc),
    onEvent() {},
    awaited: () => false,
    onLost() {},
  });
  await link.deliver("session.approve", {});
  assertEquals(daemons.map(({ asked }) => asked.length), [1, 1, 1, 0]);
  // What a daemon that goes on refuses is refused.
  daemons[2].rpc.close();
  await daemons[2].rpc.closed;
  await assertRejects(() => link.deliver("session.approve", {}), SvcError, "no more");
  link.close();
  await Promise.all(daemons.map(({ rpc }) => rpc.closed));
});
