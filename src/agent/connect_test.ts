import { assertEquals } from "@std/assert";
import type { TurnSession } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { connectOf, GIT_PUSH } from "./connect.ts";
import type { Ruling } from "./ruling.ts";

/** What decides for a command, with a person who says yes to everything. */
function asking(
  ruling: Ruling,
  own: Partial<TurnSession["state"]> = {},
  pushes: Ruling = ruling,
) {
  const asked: string[] = [];
  let waits = 0;
  const session = {
    state: { approval: "ask", trust: "trusted", title: "", ...own },
    approvals: {
      ask({ reason }: { reason: string }) {
        asked.push(reason);
        return Promise.resolve("allow");
      },
    },
  } as unknown as TurnSession;
  const turn = { soft: new AbortController().signal } as Turn;
  const mayConnect = connectOf(
    { judge: (_, { spec }) => Promise.resolve(spec.name === GIT_PUSH ? pushes : ruling) },
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
    async pushes(push: string, background = false) {
      const to = { host: "a.example", port: 443, push };
      const { allow } = await mayConnect(to, true, background ? undefined : (it) => it);
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

Deno.test("a push asks once about each repository, in each mode, wherever hosts are allowed", async () => {
  for (const approval of ["ask", "auto"] as const) {
    const it = asking({}, { approval });
    const pushes = [it.pushes("/me/a"), it.pushes("/me/a"), it.pushes("/me/a.git")];
    assertEquals(await Promise.all(pushes), [true, true, true]);
    assertEquals(it.asked, [
      "git push to a.example/me/a with your credential",
      "git push to a.example/me/a.git with your credential",
    ]);
  }
});

Deno.test("a push goes without a question only by a rule, and never for work without a person", async () => {
  const allowed = asking({ action: "allow" });
  assertEquals([await allowed.pushes("/a"), await allowed.pushes("/a", true)], [true, true]);
  const background = asking({});
  assertEquals(await background.pushes("/a", true), false);
  const denied = asking({ action: "deny", by: "x" });
  assertEquals(await denied.pushes("/a"), false);
  const work = `task t-${"0".repeat(26)}`;
  for (const own of [{ trust: "untrusted" }, { title: work }, { approval: "read_only" }] as const) {
    const it = asking({ action: "allow" }, own);
    assertEquals([await it.pushes("/a"), it.asked], [false, []]);
  }
  assertEquals([...allowed.asked, ...background.asked, ...denied.asked], []);
});

Deno.test("a rule that asks about a host asks about a push to it, too, whatever allows that", async () => {
  const asks = { action: "ask", by: "connect: a.example" } as const;
  const it = asking(asks, { approval: "auto" }, { action: "allow" });
  assertEquals([await it.pushes("/a"), await it.pushes("/a", true)], [true, false]);
  assertEquals(it.asked, [
    "git push to a.example/a with your credential (asked because of connect: a.example)",
  ]);
  const free = asking({}, { approval: "auto" }, { action: "allow" });
  assertEquals([await free.pushes("/a"), free.asked], [true, []]);
});
