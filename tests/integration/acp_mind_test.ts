/** Sessions whose mind is an agent of the Agent Client Protocol: `acp/<name>`. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { Hosting, ignore, no_jail } from "../support/acp_hosting.ts";
import type { EventParams } from "../../src/client/rpc.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { tinyPdf, tinyPng } from "../support/media.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

Deno.test({
  name: "an agent is a session's mind: text, files and commands by the session's tools, cost",
  ignore,
  async fn() {
    await using it = await Hosting.begin();
    Deno.writeTextFileSync(join(it.workdir, "in.txt"), "line one\nline two\n");
    const end = await it.turn(
      `say hello\nread ${it.workdir}/in.txt\nwrite ${it.workdir}/sub/out.txt written\n` +
        "terminal echo from the terminal; exit 3\ncost 0.25",
    );
    assertEquals(end.stop_reason, "ok");
    assertStringIncludes(end.message, "hello");
    assertStringIncludes(end.message, "line one\nline two\n");
    assertStringIncludes(end.message, "exit 3: from the terminal\n");
    assertEquals(Deno.readTextFileSync(join(it.workdir, "sub/out.txt")), "written");
    assertEquals(it.of("session.tool_started").map(({ tool, args }) => [tool, args]), [
      ["read_file", { path: "in.txt" }],
      ["write_file", { path: "sub/out.txt", content: "written" }],
      ["run_command", { command: "echo from the terminal; exit 3", timeout_s: 3600 }],
    ]);
    assertEquals(it.of("session.tool_completed").map(({ ok }) => ok), [true, true, false]);
    assertEquals(end.usage.usd, 0.25);
    const { session_id } = it;
    const { messages } = await it.client.rpc.call("session.transcript", { session_id });
    assertEquals(messages.map(({ role }: { role: string }) => role), [
      ...["user", "assistant", "tool", "assistant", "tool", "assistant"],
    ]);
    // The same process goes on with the next message.
    const before = it.agents();
    await it.turn("say again\ncost 0.30");
    assertEquals(it.agents(), before);
    const { cost_usd } = await it.client.rpc.call("session.get", { session_id });
    assertEquals(cost_usd.toFixed(2), "0.30");
  },
});

Deno.test({
  name: "what an agent wants to do waits for the person, by its tools and by its own",
  ignore: no_jail,
  async fn() {
    await using it = await Hosting.begin({ approval: "ask" });
    const turn = it.turn("write a.txt one\nterminal echo two\nown change b.txt\nown change c.txt");
    await it.decide(1, "deny");
    await it.decide(2, "allow");
    await it.decide(3, "allow");
    await it.decide(4, "deny");
    const { message, stop_reason } = await turn;
    assertEquals(stop_reason, "ok");
    assertStringIncludes(message, "failed denied");
    assertStringIncludes(message, "exit 0: two");
    assertMatch(message, /chosen yes[^]*chosen no/);
    assertEquals(it.of("approval.requested").map(({ tool, reason }) => [tool, reason]), [
      ["write_file", "write a.txt (3 characters)"],
      ["run_command", "run echo two"],
      ["agent_edit", "change b.txt"],
      ["agent_edit", "change c.txt"],
    ]);
    assertEquals([...Deno.readDirSync(it.workdir)].some(({ name }) => name === "a.txt"), false);
  },
});

Deno.test({
  name: "what an agent may always do is this, not whatever it calls so",
  ignore: no_jail,
  async fn() {
    await using it = await Hosting.begin({ approval: "ask" });
    const { session_id } = it;
    /** Has the agent do something of its own. @returns how often the person was asked. */
    const asked = async (text: string, decision: string): Promise<number> => {
      const before = it.of("approval.requested").length;
      const questions = () => it.of("approval.requested").slice(before);
      let ended = false;
      const turn = it.turn(text).finally(() => ended = true);
      await until(() => ended || questions().length > 0, "a question, or the end", 60_000);
      for (const { approval_id } of questions()) {
        await it.client.rpc.call("session.approve", { session_id, approval_id, decision });
      }
      const { message } = await turn;
      const denied = decision === "deny" && questions().length > 0;
      assertStringIncludes(message, denied ? "chosen no" : "chosen yes");
      return questions().length;
    };
    assertEquals(await asked("own format with prettier a.ts", "allow_always"), 1);
    assertEquals(await asked("own format with prettier a.ts", "deny"), 0);
    assertEquals(await asked("own format with rm -rf src", "deny"), 1);
    // Without its input nothing says what it does.
    assertEquals(await asked("own change", "allow_always"), 1);
    assertEquals(await asked("own change", "deny"), 1);
  },
});

for (const approval of ["ask", "read_only"]) {
  Deno.test({
    name: `in approval ${approval} an agent's process cannot write in the working directory itself`,
    ignore: no_jail,
    async fn() {
      await using it = await Hosting.begin({ approval });
      const { message } = await it.turn(
        `plant ${it.workdir}/planted.txt\nplant /tmp/scratch.txt\nsteal ${it.workdir}/agent.mjs`,
      );
      assertStringIncludes(message, "refused EROFS");
      assertStringIncludes(message, "planted");
      assertStringIncludes(message, "stolen");
      assertEquals(
        [...Deno.readDirSync(it.workdir)].map(({ name }) => name).includes("planted.txt"),
        false,
      );
    },
  });
}

Deno.test({
  name: "without a sandbox an agent is refused where it would have to be held",
  ignore,
  async fn() {
    const toml = '[sandbox]\nshell = "none"';
    await using it = await Hosting.begin({ approval: "ask", toml });
    const { stop_reason, error } = await it.turn("say hello");
    assertEquals(stop_reason, "error");
    assertStringIncludes(error, "cannot be restricted to approval ask");
  },
});

Deno.test({
  name: "an agent is jailed like a command: no file outside, no variable but its own",
  ignore: no_jail,
  async fn() {
    await using it = await Hosting.begin();
    const secret = join(it.place.mkdir("other"), "secret.txt");
    Deno.writeTextFileSync(secret, "a secret");
    Deno.symlinkSync(secret, join(it.workdir, "link.txt"));
    const record = join(it.place.home, "daemon.json");
    const { message } = await it.turn([
      `steal ${secret}`,
      `steal ${record}`,
      `plant ${it.place.dir}/planted.txt`,
      `read ${secret}`,
      "read link.txt",
      `write ${it.place.dir}/planted.txt x`,
      "variable AGENT_KEY",
      "variable OTHER_KEY",
    ].join("\n"));
    assert(!message.includes("a secret"), message);
    assert(!message.includes(it.daemon.token), message);
    assertEquals(message.match(/refused ENOENT/g)?.length, 2, message);
    assertEquals(message.match(/is outside/g)?.length, 2, message);
    assertStringIncludes(message, "AGENT_KEY=the-agents-key");
    assertStringIncludes(message, "OTHER_KEY=undefined");
    assertEquals(
      [...Deno.readDirSync(it.place.dir)].some(({ name }) => /planted/.test(name)),
      false,
    );
  },
});

Deno.test({
  name: "a turn is cancelled: an agent that listens stays, one that does not is ended",
  ignore,
  async fn() {
    await using it = await Hosting.begin();
    const { session_id } = it;
    for (const [word, said, stays] of [["wait", "waiting", true], ["stubborn", "deaf", false]]) {
      const turn = it.turn(String(word));
      const delta = (event: EventParams) =>
        event.type === "session.delta" && event.data.text.includes(said);
      await it.client.wait(delta, String(said), 60_000);
      for (const change of [{ model: "builtin/toolbelt" }, { approval: "ask" }]) {
        const refused = it.client.rpc.call("session.configure", { session_id, ...change });
        assertEquals((await assertRejects(() => refused, SvcError)).code, "conflict");
      }
      const [agent] = it.agents();
      await it.client.rpc.call("session.cancel", { session_id });
      assertEquals((await turn).stop_reason, "cancelled");
      if (stays) assertEquals(it.agents()[0], agent);
      else await until(() => it.agents().length === 0, "the end of the agent");
    }
    assertEquals((await it.turn("say back")).message, "back");
  },
});

Deno.test({
  name: "an agent that dies fails its turn; a new one is told what was said, also after a crash",
  ignore,
  async fn() {
    await using it = await Hosting.begin();
    await it.turn("say remember this");
    const died = await it.turn("die");
    assertEquals(died.stop_reason, "error");
    assertStringIncludes(died.error, "exit code 7");
    const told = await it.turn("tell me all");
    assertStringIncludes(told.message, "You: remember this", JSON.stringify(told));
    await it.daemon.kill();
    await until(() => it.agents().length === 0, "the end of the agent", 20_000);
    await it.restart();
    const { message } = await it.turn("tell me all");
    assertStringIncludes(message, "The person: say remember this");
    await it.client.rpc.call("session.kill", { session_id: it.session_id });
    await until(() => it.agents().length === 0, "the end of the agent");
  },
});

Deno.test({
  name: "an agent is given images with the prompt, and those that it shows are kept",
  ignore,
  async fn() {
    await using it = await Hosting.begin();
    const { rpc } = it.client;
    const data = tinyPng().toBase64();
    const pdf = tinyPdf().toBase64();
    const { seq } = await rpc.call("session.send", {
      session_id: it.session_id,
      text: "look\ntell me all",
      attachments: [{ data, name: "shot.png" }, { data: pdf, name: "paper.pdf" }],
    });
    const ended = ({ type, seq: at }: EventParams) => type === "turn.completed" && at > seq;
    const { data: { message } } = await it.client.wait(ended, "the turn's end");
    assertStringIncludes(message, `seen image/png ${data.length}`);
    assertStringIncludes(message, "[image: shot.png, 69 bytes]");
    const note = "this agent cannot be given documents";
    assertStringIncludes(message, `[PDF: paper.pdf, 189 bytes; ${note}]`);
    const [shown] = it.of("session.tool_completed");
    assertEquals(shown.output, "[image]");
    const { hash } = shown.attachments[0];
    const params = { session_id: it.session_id, hash };
    assertEquals((await rpc.call("session.attachment", params)).data, data);
  },
});

Deno.test({
  name: "an agent that is not there is refused when the session starts",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const start = async (model: string) =>
      (await daemon.http("POST", "/v1/sessions", { workdir: place.mkdir("w"), model })).json.error;
    assertStringIncludes(
      (await start("acp/no-such-agent")).message,
      "program no-such-agent was not found",
    );
    assertStringIncludes(
      (await start("acp//bin/sh")).message,
      "expected the name of a program, without a path",
    );
  },
});

Deno.test({
  name:
    "an agent's own process sees added directories, each with its access, from the next turn on",
  ignore: no_jail,
  async fn() {
    await using it = await Hosting.begin();
    const [docs, out] = ["docs", "out"].map((name) => Deno.realPathSync(it.place.mkdir(name)));
    Deno.writeTextFileSync(`${docs}/a.txt`, "of the person");
    const say = async (text: string) => String((await it.turn(text)).message);
    assertStringIncludes(await say(`steal ${docs}/a.txt`), "ENOENT");
    const add_dirs = [{ path: docs, access: "read" }, { path: out }];
    const { session_id } = it;
    await it.client.rpc.call("session.configure", { session_id, add_dirs });
    assertStringIncludes(await say(`steal ${docs}/a.txt`), "of the person");
    assertStringIncludes(await say(`plant ${docs}/b.txt`), "EROFS");
    assertStringIncludes(await say(`plant ${out}/b.txt`), "planted");
    assertEquals(Deno.readTextFileSync(`${out}/b.txt`), "planted");
    await it.client.rpc.call("session.configure", { session_id, remove_dirs: [docs] });
    assertStringIncludes(await say(`steal ${docs}/a.txt`), "ENOENT");
  },
});
