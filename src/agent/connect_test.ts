import { assertEquals } from "@std/assert";
import type { TurnSession } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { connectOf } from "./connect.ts";
import type { Ruling } from "./ruling.ts";

/** What decides for a command, with a person who says yes to everything. */
function asking(ruling: Ruling) {
  const asked: string[] = [];
  let waits = 0;
  const session = {
    state: { approval: "ask", trust: "trusted", title: "" },
    approvals: {
      ask({ reason }: { reason: string }) {
        asked.push(reason);
        return Promise.resolve("allow");
      },
    },
  } as unknown as TurnSession;
  const turn = { soft: new AbortController().signal } as Turn;
  const mayConnect = connectOf(
    { judge: () => Promise.resolve(ruling) },
    session,
    turn,
    { call_id: "call_1", label: "run it" },
    { wait: (decision) => decision },
  );
  return {
    asked,
    ruling,
    get waits() {
      return waits;
    },
    async connects(allowed: boolean, host = "a.example") {
      const { allow } = await mayConnect({ host, port: 443 }, allowed, (decision) => {
        waits++;
        return decision;
      });
      return allow;
    },
  };
}

Deno.test("a person is asked once about a host, and waited for, also where a rule asks", async () => {
  for (const [ruling, allowed] of [[{}, false], [{ action: "ask", by: "x" }, true]] as const) {
    const it = asking({ ...ruling });
    const connections = [it.connects(allowed), it.connects(allowed)];
    assertEquals(await Promise.all(connections), [true, true]);
    assertEquals([await it.connects(allowed), it.asked.length, it.waits], [true, 1, 3]);
  }
});

Deno.test("rules hold for a command that runs as they are at each connection", async () => {
  const it = asking({ action: "allow" });
  assertEquals(await it.connects(false), true);
  it.ruling.action = "deny";
  assertEquals(await it.connects(false), false);
  delete it.ruling.action;
  assertEquals([await it.connects(false), it.asked.length], [true, 1]);
  it.ruling.action = "deny";
  assertEquals(await it.connects(false), false);
});

Deno.test("a command asks about so many hosts and no more", async () => {
  const it = asking({});
  const hosts = Array.from({ length: 25 }, (_, n) => `h${n}.example`);
  const answers = await Promise.all(hosts.map((host) => it.connects(false, host)));
  assertEquals([answers.filter((allow) => allow).length, it.asked.length], [20, 20]);
});
