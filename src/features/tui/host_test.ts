import { assertEquals, assertRejects } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import type { Link } from "./client.ts";
import { type SentRequest, TuiHost } from "./host.ts";

const ANSWERS: Record<string, unknown> = {
  "session.get": {
    title: "a title",
    workdir: "/work",
    model: "local/model",
    approval: "ask",
    state: "running",
    activity: "idle",
    cost_usd: 0,
    last_seq: 1,
    lanes: [],
    pending_approvals: [],
  },
  "session.history": { events: [], last_seq: 1, more: false },
  "session.subscribe": { sub: 1, current_seq: 1 },
};

/** A host whose links answer from memory; counts those that are open. */
function newHost() {
  const open = new Set<Link>();
  const called: string[] = [];
  const newLink = (): Link & Disposable => {
    const link: Link & Disposable = {
      call: (method, params) => {
        called.push(method);
        const { session_id } = params as { session_id: string };
        return session_id === "unknown"
          ? Promise.reject(new SvcError("not_found", "there is no such session"))
          : Promise.resolve(ANSWERS[method] as never);
      },
      onEvent: () => {},
      onSubscriptionEnded: () => {},
      lost: false,
      [Symbol.dispose]: () => void open.delete(link),
    };
    open.add(link);
    return link;
  };
  return { host: new TuiHost({ newLink, onEmpty: () => {} }), open, called };
}

const SNAPSHOT = { method: "snapshot" } as const;

Deno.test("instances are made when they are asked for, and only so many stay", async () => {
  const { host, open } = newHost();
  for (let n = 0; n < 40; n++) await host.request(`s${n}`, SNAPSHOT);
  assertEquals(open.size, 32);
  await Promise.all([host.request("x", SNAPSHOT), host.request("x", SNAPSHOT)]);
  assertEquals(open.size, 32);
  host.close();
  assertEquals(open.size, 0);
});

Deno.test("of a session that is not there nothing stays", async () => {
  const { host, open } = newHost();
  await assertRejects(() => host.request("unknown", SNAPSHOT), SvcError, "no such session");
  assertEquals(open.size, 0);
});

Deno.test("Ctrl-D gives an instance back", async () => {
  const { host, open } = newHost();
  await host.request("s", { method: "press_key", key: "ctrl-d" });
  assertEquals(open.size, 0);
});

Deno.test("the terminal that came last is asked; when it goes, so does what it was asked", async () => {
  const { host, open } = newHost();
  await host.request("s", SNAPSHOT);
  const asked: SentRequest[] = [];
  host.attach("s", () => {
    throw new Error("it came first");
  });
  assertEquals(open.size, 0);
  const detach = host.attach("s", (request) => asked.push(request));
  const first = host.request("s", SNAPSHOT);
  host.answer({ request_id: asked[0].request_id, result: "a screen" });
  assertEquals(await first, "a screen");
  const second = host.request("s", SNAPSHOT);
  const third = host.request("s", { method: "press_key", key: "x" });
  host.answer({
    request_id: asked[1].request_id,
    error: { code: "validation", message: "no" },
  });
  await assertRejects(() => second, SvcError, "no");
  detach();
  await assertRejects(() => third, SvcError, "closed before it answered");
});

Deno.test("what only looks at a terminal that goes is answered without it", async () => {
  const { host } = newHost();
  const detach = host.attach("s", () => {});
  const looked = host.request("s", SNAPSHOT) as Promise<{ view: string }>;
  detach();
  assertEquals((await looked).view.split("\n").length, 24);
  host.close();
});
