/**
 * Tool servers that do not answer in time: a turn waits a moment for all of them together, and their
 * tools come when they do answer. Their time limits are so long here that a turn which waited for
 * them would end its test.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { ParsedRequest } from "../support/model_servers.ts";
import { writeOddProgram } from "../support/odd_program.ts";
import { type OddMethod, type OddTools, startOddTools } from "../support/odd_tools.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { httpEntry, policyOf } from "../support/tool_servers.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** Keeps requests waiting until it is opened. */
class Gate {
  #open = Promise.withResolvers<void>();

  open(): void {
    this.#open.resolve();
  }

  close(): void {
    this.#open = Promise.withResolvers();
  }

  /** A method that answers when the gate is open. */
  before(answer: OddMethod): OddMethod {
    return async (...request) => {
      await this.#open.promise;
      return await answer(...request);
    };
  }
}

const hello: OddMethod = ({ params }) => ({
  protocolVersion: params.protocolVersion,
  capabilities: { tools: {} },
  serverInfo: { name: "slow", version: "1" },
});
const list: OddMethod = () => ({
  tools: [{ name: "ping", inputSchema: { type: "object" } }],
});

/** Calls the sound server until a tool of the other one is offered, then that. */
function untilOffered(name: string) {
  return ({ messages, tools }: ParsedRequest) => {
    const last = messages.at(-1)!;
    if (last.role === "tool" && last.results[0].tool === name) return { text: "Done." };
    if (last.role === "user" && last.text === "say") return { text: "Said." };
    return { calls: [{ name: tools.includes(name) ? name : "mcp_good_ping", args: {} }] };
  };
}

function notesOf(it: Scenario): string[] {
  return it.client.of("lane.note").filter(({ data }) => data.reason_code === "tools_missing")
    .map(({ data }) => data.text);
}

/** Where a server is silent. */
const SILENT: Record<string, (gate: Gate) => OddTools> = {
  // github/copilot-cli#4678: it takes the connection and never answers
  "initialize": (gate) => startOddTools({ initialize: gate.before(hello) }),
  // openai/codex#19556, openai/codex#29321
  "tools/list": (gate) => startOddTools({ "tools/list": gate.before(list) }),
};

for (const [method, start] of Object.entries(SILENT)) {
  Deno.test({
    name:
      `turns do not wait for a server that is silent at ${method}; its tools come with a later step`,
    ignore,
    async fn() {
      const gate = new Gate();
      await using slow = start(gate);
      await using good = startOddTools();
      await using it = await Scenario.begin(untilOffered("mcp_slow_ping"), {
        policy: policyOf(
          httpEntry("good", good.url),
          httpEntry("slow", slow.url, { timeout: "1h" }),
        ),
        toml: "[agent]\nmax_steps = 500\n",
        cold: true,
      });
      assertEquals((await it.turn("say")).data.message, "Said.");
      assertEquals((await it.turn("say")).data.message, "Said.");
      assertEquals(notesOf(it), [
        "tool server slow: it has not answered yet; its tools follow when it has",
      ]);
      const asked = () => slow.messages.filter((message) => message.method === method).length;
      assertEquals(asked(), 1, "it is asked once");
      await it.send("go");
      await it.event("session.tool_completed");
      gate.open();
      await it.event("session.tool_completed", ({ data }) => data.output.includes("called ping"));
      await it.event("turn.completed", ({ data }) => data.message.endsWith("Done."));
      assert(it.server.requests.at(-1)!.body.tools.length > 0);

      gate.close();
      await it.restart();
      assertEquals((await it.turn("say")).data.message.endsWith("Said."), true);
      gate.open();
    },
  });
}

Deno.test({
  name: "a server that is silent when it is connected to again is missing until it answers",
  ignore,
  async fn() {
    const gate = new Gate();
    let lost = false;
    const known: OddMethod = ({ id }) =>
      lost
        ? new Response("session not found", { status: 404 })
        : Response.json({ jsonrpc: "2.0", id, result: { content: [] } });
    await using slow = startOddTools({
      initialize: async (message, request) => {
        if (lost) {
          await gate.before(hello)(message, request);
          lost = false;
        }
        return hello(message, request);
      },
      "tools/call": known,
    });
    await using good = startOddTools();
    const offered: string[][] = [];
    await using it = await Scenario.begin((request) => {
      offered.push(request.tools);
      const last = request.messages.at(-1)!;
      if (last.role === "user") return { calls: [{ name: last.text, args: {} }] };
      return { text: "Done." };
    }, {
      policy: policyOf(
        httpEntry("good", good.url),
        httpEntry("slow", slow.url, { timeout: "2s" }),
      ),
    });
    const ok = async (name: string) => {
      await it.turn(name);
      return it.client.of("session.tool_completed").at(-1)!.data.ok;
    };
    assertEquals(await ok("mcp_slow_ping"), true);
    lost = true;
    assertEquals(await ok("mcp_slow_ping"), false, "a call has the limit of its server");
    assertEquals(offered.at(-1)!.includes("mcp_slow_ping"), false);
    assertEquals(await ok("mcp_good_ping"), true);
    assertStringIncludes(notesOf(it).at(-1)!, "tool server slow: ");
    gate.open();
    await until(async () => {
      await it.turn("mcp_good_ping");
      return offered.at(-1)!.includes("mcp_slow_ping");
    }, "its tools");
    assertEquals(await ok("mcp_slow_ping"), true);
  },
});

Deno.test({
  name: "a program that starts longer than its limit is not ended, and its tools come in the end",
  ignore,
  async fn() {
    // github/copilot-cli#4421, artokun/comfyui-mcp#1447, affaan-m/ECC#544: npx downloads it first
    await using files = new Place();
    const dir = files.mkdir("npx");
    const command = writeOddProgram(dir, {
      before: "echo started >> starts; while [ ! -e downloaded ]; do sleep 0.05; done",
    });
    await using good = startOddTools();
    await using it = await Scenario.begin(untilOffered("mcp_slow_ping"), {
      policy: policyOf(
        httpEntry("good", good.url),
        `  - { name: slow, transport: stdio, command: ${command}, timeout: 300ms }\n`,
      ),
      toml: "[agent]\nmax_steps = 500\n",
      cold: true,
    });
    assertEquals((await it.turn("say")).data.message, "Said.");
    assertStringIncludes(notesOf(it)[0], "tool server slow: it has not answered yet");
    const listed = () => it.client.rpc.call("mcp.list_tools", { server: "slow" });
    for (let n = 0; n < 3; n++) {
      const { tools, problems } = await listed();
      assertEquals(tools, []);
      assertEquals(problems[0].message, "tool server slow: it did not answer within 300ms");
    }
    Deno.writeTextFileSync(join(dir, "downloaded"), "");
    await until(async () => (await listed()).tools.length === 1, "its tools");
    await it.turn("go");
    assertStringIncludes(it.client.of("session.tool_completed").at(-1)!.data.output, "pong");
    assertEquals(Deno.readTextFileSync(join(dir, "starts")), "started\n");
  },
});

Deno.test({
  name: "a program that is still starting ends with the daemon, and when it leaves the policy",
  ignore: ignore || Deno.build.os !== "linux",
  async fn() {
    await using files = new Place();
    const dir = files.mkdir("npx");
    const command = writeOddProgram(dir, { before: "echo $$ >> starts; exec sleep 300" });
    const entry = `  - { name: slow, transport: stdio, command: ${command}, timeout: 300ms }\n`;
    await using it = await Scenario.begin([{ text: "Said." }, { text: "Said." }], {
      policy: policyOf(entry),
      cold: true,
    });
    const last = () => Number(Deno.readTextFileSync(join(dir, "starts")).trim().split("\n").at(-1));
    const alive = (pid: number) => {
      try {
        return !Deno.readTextFileSync(`/proc/${pid}/stat`).includes(") Z ");
      } catch {
        return false;
      }
    };
    await it.turn("go");
    const first = last();
    assert(alive(first));
    it.place.setPolicy("mcp_servers: []\n");
    await it.client.rpc.call("daemon.reload_config");
    await until(() => !alive(first), "its end");
    it.place.setPolicy(policyOf(entry));
    await it.client.rpc.call("daemon.reload_config");
    await it.turn("go");
    const second = last();
    assert(second !== first && alive(second));
    await it.client[Symbol.asyncDispose]();
    await it.daemon.stop();
    await until(() => !alive(second), "its end");
  },
});
