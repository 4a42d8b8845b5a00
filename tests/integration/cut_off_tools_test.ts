/** Calls of tool servers that were under way when the daemon ended. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { httpEntry, policyOf } from "../support/tool_servers.ts";

interface Case {
  name: string;
  hints: Record<string, boolean>;
  trust: "trusted" | "untrusted";
  /** How often the tool is called in all. */
  called: number;
}

const CASES: Case[] = [
  { name: "idempotent", hints: { idempotentHint: true }, trust: "trusted", called: 2 },
  { name: "read-only", hints: { readOnlyHint: true }, trust: "trusted", called: 2 },
  { name: "without a hint", hints: {}, trust: "trusted", called: 1 },
  { name: "not idempotent", hints: { idempotentHint: false }, trust: "trusted", called: 1 },
  // What an untrusted server says of itself is not believed.
  { name: "untrusted", hints: { idempotentHint: true }, trust: "untrusted", called: 1 },
];

for (const { name, hints, trust, called } of CASES) {
  for (const how of ["crash", "stop"] as const) {
    Deno.test({
      name: `a call cut off by a ${how}, ${name}: the tool is called ${called} times in all`,
      ignore: !can_run_svc,
      async fn() {
        const begun: unknown[] = [];
        const held = Promise.withResolvers<void>();
        await using tools = startHttpToolServer({
          tools: {
            book: {
              annotations: hints,
              async run(args) {
                // The first one has no answer before its daemon is gone.
                if (begun.push(args) === 1) await held.promise;
                return `booked ${begun.length}`;
              },
            },
          },
        });
        await using it = await Scenario.begin([
          { calls: [{ id: "call_1", name: "mcp_web_book", args: { seat: "7a" } }] },
          { text: "Done." },
        ], {
          policy: policyOf(httpEntry("web", tools.url, { trust })),
          toml: '[agent]\ncontinue = "always"\n',
        });
        await it.send("go");
        await until(() => begun.length === 1, "the call");
        if (how === "stop") {
          await it.client.rpc.call("daemon.shutdown", { grace_s: 3_600 });
          assertEquals((await it.daemon.ended()).code, 0);
        }
        await it.restart();
        assertEquals((await it.event("turn.completed")).data.message, "Done.");
        held.resolve();
        assertEquals(begun, Array(called).fill({ seat: "7a" }));
        assertEquals(it.asked.length, 2);
        const told = it.asked[1].flatMap((it) => it.role === "tool" ? it.results : []);
        assertEquals(told.length, 1);
        assertStringIncludes(told[0].output, called === 2 ? "booked 2" : UNKNOWN_OUTCOME);
        const results = it.client.of("session.tool_completed");
        assertEquals(results.map(({ data }) => data.ok), [called === 2]);
      },
    });
  }
}

Deno.test({
  name: "what a person allowed of a call that was cut off does not cover other arguments",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    const begun: unknown[] = [];
    const held = Promise.withResolvers<void>();
    await using tools = startHttpToolServer({
      tools: {
        book: {
          annotations: { idempotentHint: true },
          async run(args) {
            begun.push(args);
            await held.promise;
            return "booked";
          },
        },
      },
    });
    const once = '[ -e "$HOME/once" ] && exit; : > "$HOME/once"; echo \'{"args":{"seat":"1a"}}\'';
    const command = JSON.stringify(["/bin/sh", "-c", once]);
    await using it = await Scenario.begin([
      { calls: [{ id: "call_1", name: "mcp_web_book", args: { seat: "7a" } }] },
      { text: "Done." },
    ], {
      policy: policyOf(httpEntry("web", tools.url, { trust: "trusted" })),
      start: { approval: "ask" },
      toml: '[agent]\ncontinue = "always"\n' +
        `[[hooks]]\non = "tool.before"\ncommand = ${command}\n`,
    });
    await it.send("go");
    const { seq, data: first } = await it.event("approval.requested");
    await it.call("session.approve", { approval_id: first.approval_id, decision: "allow" });
    await until(() => begun.length === 1, "the call");
    await it.restart();
    const { data: second } = await it.event("approval.requested", (event) => event.seq > seq);
    assertEquals([first.args, second.args], [{ seat: "1a" }, { seat: "7a" }]);
    await it.call("session.approve", { approval_id: second.approval_id, decision: "deny" });
    await it.event("turn.completed");
    held.resolve();
    assertEquals(begun, [{ seat: "1a" }]);
  },
});
