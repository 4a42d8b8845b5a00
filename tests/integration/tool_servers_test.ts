import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SvcError } from "../../src/protocol/errors.ts";
import { until } from "../support/scripted.ts";
import { TempDir } from "../support/sessions.ts";
import { can_run_svc, gone, tests_source } from "../support/svc.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import {
  httpEntry,
  policyOf,
  stdioEntry,
  TestToolServers,
  TRUSTED,
  UNTRUSTED,
} from "../support/tool_servers.ts";

// Without a daemon: the binary has no part in it.
const ignore = !can_run_svc || !tests_source || Deno.build.os === "windows";
const SECRET = "token-of-the-tests";

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

test("a program and an address are listed, called, shared, and end with everything", async () => {
  await using http = startHttpToolServer();
  let pid: number;
  {
    await using it = new TestToolServers([stdioEntry("prog"), httpEntry("web", http.url)]);
    const { items } = await it.servers.list(TRUSTED);
    assertEquals(items.map(({ connected }) => connected), [0, 0], "not before their first use");
    for (const server of ["prog", "web"]) {
      assert((await it.names(server)).includes("echo"));
      assertEquals(await it.call(server, "echo", { text: "ä hello" }), "ä hello");
      assertStringIncludes(await it.call(server, "fail"), "the tool itself failed");
      assertStringIncludes(
        await it.call(server, "picture"),
        "[image image/png, 10 bytes, not shown]",
      );
      const item = await it.item(server);
      assertEquals([item.connected, item.breaker, item.problem], [1, "closed", undefined]);
      assert(item.tools! > 5);
    }
    pid = Number(await it.call("prog", "pid"));
    assertEquals(Number(await it.call("prog", "pid")), pid, "one program for all calls");
    const { latency_ms, server, tools } = await it.servers.test(
      "prog",
      TRUSTED,
      new AbortController().signal,
    );
    assertEquals([server, tools > 5], [{ name: "test-tools", version: "1.2.3" }, true]);
    assert(latency_ms > 0);
    await assertRejects(
      () => it.servers.test("pro", TRUSTED, new AbortController().signal),
      SvcError,
      "no tool server",
    );
  }
  assert(await gone(pid));
  assert(http.requests.some(({ method }) => method === "DELETE"), "its session was ended");
});

test("a session that is not trusted has the tools of untrusted servers only, in its own program", async () => {
  await using it = new TestToolServers([
    stdioEntry("open"),
    stdioEntry("closed", { trust: "trusted" }),
  ]);
  const names = async (scope = TRUSTED) => {
    const { offered } = await it.tools(scope);
    return [...new Set(offered.map(({ server }) => server.entry.name))];
  };
  assertEquals(await names(), ["closed", "open"]);
  assertEquals(await names(UNTRUSTED), ["open"]);
  assertEquals((await it.servers.list(UNTRUSTED)).items.map(({ name }) => name), ["open"]);
  assertEquals((await it.item("open")).connected, 2);
  const [own, other] = [
    await it.call("open", "pid"),
    await it.call("open", "pid", {}, { scope: UNTRUSTED }),
  ];
  assert(own !== other);
});

test("credentials reach the server and show nowhere else", async () => {
  const env = { TOOL_TOKEN: SECRET, OTHER_KEY: "key-of-the-tests" };
  await using http = startHttpToolServer({ token: SECRET });
  await using it = new TestToolServers([
    stdioEntry("prog", { auth_env: "TOOL_TOKEN", env: { KEY: "${OTHER_KEY}", PLAIN: "plain" } }),
    httpEntry("web", http.url, { auth_env: "TOOL_TOKEN", headers: { "x-key": "${OTHER_KEY}" } }),
  ], { env });
  const seen = JSON.parse(await it.call("prog", "environment"));
  assertEquals([seen.TOOL_TOKEN, seen.KEY, seen.PLAIN], ["***", "***", "plain"]);
  const allowed = ["PATH", "HOME", "LANG", "LC_", "LOGNAME", "SHELL", "TMPDIR", "TZ", "USER"];
  const given = ["TOOL_TOKEN", "KEY", "PLAIN", "DENO_DIR"];
  for (const name of Object.keys(seen)) {
    assert([...allowed, ...given].some((it) => name.startsWith(it)), `${name} was passed on`);
  }
  assertEquals(await it.call("prog", "arguments"), "[]");
  await it.call("prog", "complain", { words: `I was given ${SECRET}.` });
  await until(
    () => it.log.lines.some(({ fields }) => fields.stderr === "I was given ***."),
    "standard error in the log",
  );
  const died = await assertRejects(
    () => it.call("prog", "die", { words: `bad token ${SECRET}` }),
    SvcError,
  );
  assertEquals(
    died.message,
    "tool server prog: it ended with exit code 3; its last output: bad token ***",
  );

  assertEquals(await it.call("web", "echo", { text: "in" }), "in");
  assertEquals(http.requests[0].headers.get("x-key"), "key-of-the-tests");
  assertEquals(it.secrets.toSorted(), ["key-of-the-tests", "key-of-the-tests", SECRET, SECRET]);
  const { items } = await it.servers.list(TRUSTED);
  const shown = JSON.stringify([items, it.log.lines]);
  for (const secret of [SECRET, "key-of-the-tests"]) assert(!shown.includes(secret));
});

test("a server without its credential, or disabled, is refused and says why; others work", async () => {
  await using it = new TestToolServers([
    stdioEntry("good"),
    stdioEntry("poor", { auth_env: "TOOL_TOKEN" }),
    stdioEntry("off", { enabled: false }),
  ], { env: { TOOL_TOKEN: "" } });
  const { offered, problems } = await it.tools();
  assertEquals(new Set(offered.map(({ server }) => server.entry.name)), new Set(["good"]));
  const message = "tool server poor: auth_env names the variable TOOL_TOKEN, which is not set " +
    "in the daemon's environment";
  assertEquals(problems, [{ server: "poor", message }]);
  assertEquals((await it.item("poor")).problem, message);
  assertEquals((await it.item("off")).enabled, false);
  const test = (name: string) =>
    assertRejects(() => it.servers.test(name, TRUSTED, new AbortController().signal), SvcError);
  assertEquals((await test("poor")).message, message);
  assertStringIncludes((await test("off")).message, "disabled");
});

test("a tool is called by its server's name and its own, as a session's turn would", async () => {
  const signal = new AbortController().signal;
  await using it = new TestToolServers([
    stdioEntry("prog", { auth_env: "TOOL_SECRET", env: { TOOL_TOKEN: "${TOOL_SECRET}" } }),
    stdioEntry("off", { enabled: false }),
    stdioEntry("inner", { trust: "trusted" }),
  ], { env: { TOOL_SECRET: SECRET } });
  const call = (server: string, tool: string, args = {}, scope = TRUSTED) =>
    it.servers.call({ server, tool, args }, scope, signal);
  assertEquals(await call("prog", "echo", { text: "ä" }), { ok: true, output: "ä" });
  const leaked = await call("prog", "leak");
  assertEquals(leaked.ok, false);
  assert(!leaked.output.includes(SECRET) && !leaked.output.includes(btoa(SECRET)), leaked.output);
  assertEquals((await it.item("prog")).connected, 1, "the connection is the sessions' own");

  const refusal = async (...params: Parameters<typeof call>) => {
    const { code, message, hint } = await assertRejects(() => call(...params), SvcError);
    return [code, message, hint];
  };
  assertEquals(await refusal("prog", "ecko"), [
    "not_found",
    'there is no tool "ecko" of prog',
    "did you mean echo?",
  ]);
  assertEquals((await refusal("prigs", "echo"))[2], "did you mean prog?");
  assertEquals((await refusal("off", "echo")).slice(0, 2), [
    "conflict",
    "tool server off is disabled",
  ]);
  // What an untrusted session may not use is not there for it.
  assertEquals((await refusal("inner", "echo", {}, UNTRUSTED))[0], "not_found");
  const late = await assertRejects(() => call("prog", "crash"), SvcError);
  assertEquals(late.code, "internal");
  assertEquals((await call("prog", "echo", { text: "again" })).output, "again");
});

test("a server that crashes is there again at the next call", async () => {
  await using it = new TestToolServers([stdioEntry("prog")]);
  const pid = await it.call("prog", "pid");
  await assertRejects(() => it.call("prog", "crash"), SvcError, "it ended with exit code 7");
  assert(await it.call("prog", "pid") !== pid);
  Deno.kill(Number(await it.call("prog", "pid")), "SIGKILL");
  await until(async () => (await it.item("prog")).connected === 0, "the end is noticed");
  assertEquals(await it.call("prog", "echo", { text: "back" }), "back");
});

test("a server by HTTP that was started anew is introduced to again, within the call", async () => {
  await using http = startHttpToolServer();
  await using it = new TestToolServers([httpEntry("web", http.url)]);
  await it.call("web", "echo", { text: "1" });
  await http.forget();
  assertEquals(await it.call("web", "echo", { text: "2" }), "2");
});

/** How servers answer in a session that they have lost; the words are those of released ones. */
const LOST: [status: number, body: unknown][] = [
  [404, { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null }],
  [404, "Session not found: 7f3a"],
  [410, "Gone"],
  [400, rpcError(-32000, "Bad Request: No valid session ID provided")],
  [400, rpcError(-32000, "Bad Request: Server not initialized")],
  [400, rpcError(-32600, "Missing session ID")],
  [400, "Invalid session ID"],
  [401, { error: "session expired" }],
  [403, { detail: "Unknown session" }],
  [409, "the session 7f3a no longer exists"],
  [500, rpcError(-32603, "Invalid or missing session ID")],
  [503, "Session 7f3a was terminated"],
];

function rpcError(code: number, message: string) {
  return { jsonrpc: "2.0", error: { code, message }, id: null };
}

function answerOf(status: number, body: unknown): Response {
  return typeof body === "string"
    ? new Response(body, { status })
    : Response.json(body, { status });
}

test("a session that a server has lost begins anew within the call, however it says so", async () => {
  let lost = LOST[0];
  await using http = startHttpToolServer({ lost: () => answerOf(...lost) });
  await using it = new TestToolServers([httpEntry("web", http.url)]);
  await it.call("web", "echo", { text: "first" });
  for (lost of LOST) {
    await http.forget();
    const text = JSON.stringify(lost);
    assertEquals(await it.call("web", "echo", { text }), text);
  }
  assertEquals((await it.item("web")).breaker, "closed");
});

test("a request that is refused for another reason is made once", async () => {
  const refusals = [[400, rpcError(-32602, "bad arguments")], [409, "busy"], [
    500,
    "boom",
  ]] as const;
  for (const [status, body] of refusals) {
    let refuse = false;
    await using http = startHttpToolServer({
      instead: ({ method }) => refuse && method === "POST" ? answerOf(status, body) : undefined,
    });
    await using it = new TestToolServers([httpEntry("web", http.url)]);
    await it.call("web", "echo", { text: "first" });
    refuse = true;
    const before = http.requests.filter(({ method }) => method === "POST").length;
    await assertRejects(() => it.call("web", "echo", { text: "second" }), SvcError);
    assertEquals(http.requests.filter(({ method }) => method === "POST").length, before + 1);
  }
});

test("a server that cannot start is told with its last words, and not asked again at once", async () => {
  await using it = new TestToolServers([
    stdioEntry("prog", { env: { TOOL_SERVER: "crash" } }),
    httpEntry("web", "http://127.0.0.1:9/mcp"),
    `  - { name: none, transport: stdio, command: /nowhere/at-all }\n`,
  ]);
  const { problems } = await it.tools();
  const said = Object.fromEntries(problems.map(({ server, message }) => [server, message]));
  assertEquals(
    said.prog,
    "tool server prog: it ended with exit code 1; its last output: cannot find my database",
  );
  assertStringIncludes(said.none, "cannot start /nowhere/at-all");
  assert(said.web.length > 0);
  const runs = () => it.log.lines.filter(({ fields }) => fields.server === "prog").length;
  const before = runs();
  await it.tools();
  assertEquals(runs(), before, "it was not started again");
  await it.clock.advance(10_000);
  await it.tools();
  assert(runs() > before);
});

test("a server that cannot be listed is asked again when its breaker lets it, not later", async () => {
  let asked = 0;
  await using http = startHttpToolServer({
    instead: () => Promise.resolve(++asked > 0 ? new Response("busy", { status: 503 }) : undefined),
  });
  await using it = new TestToolServers([httpEntry("web", http.url)]);
  for (let n = 0; n < 5; n++) {
    assertEquals((await it.item("web")).breaker, "closed");
    await it.tools();
    if (n < 4) await it.clock.advance(10_000);
  }
  for (const s of [10, 20, 40, 80, 160, 300, 300]) {
    const before = asked;
    assertEquals((await it.item("web")).breaker, "open");
    await it.clock.advance(s * 1000 - 1);
    const { problems } = await it.tools();
    assertEquals(asked, before, `paused for ${s} s`);
    assertStringIncludes(problems[0].message, "POSTing to endpoint: busy");
    await it.clock.advance(1);
    await it.tools();
    assertEquals(asked, before + 1, `one probe after ${s} s`);
  }
});

test("errors that a server answers are answers: no number of them opens its breaker", async () => {
  const refusals: ((id: unknown) => Response)[] = [
    () => new Response("bad arguments", { status: 400 }),
    () => new Response("bad arguments", { status: 422 }),
    (id) => {
      const error = { code: -32603, message: "the tool failed" };
      return Response.json({ jsonrpc: "2.0", id, error }, { status: 500 });
    },
    (id) => Response.json({ jsonrpc: "2.0", id, error: { code: -32602, message: "no" } }),
    (id) => Response.json({ jsonrpc: "2.0", id, result: { x: "x".repeat(3_000_000) } }),
  ];
  for (const refuse of refusals) {
    await using http = startHttpToolServer({
      instead: async (request) => {
        const body = request.method === "POST" ? await request.clone().text() : "";
        return body.includes('"tools/call"') ? refuse(JSON.parse(body).id) : undefined;
      },
    });
    await using it = new TestToolServers([httpEntry("web", http.url)]);
    for (let n = 0; n < 7; n++) {
      await assertRejects(() => it.call("web", "echo", { text: "x" }), SvcError);
    }
    assertEquals((await it.item("web")).breaker, "closed", String(refuse));
  }
});

test("a server that only fails is left alone after five calls", async () => {
  await using http = startHttpToolServer({
    instead: async (request) => {
      const body = request.method === "POST" ? await request.clone().text() : "";
      return body.includes('"tools/call"') ? new Response("down", { status: 502 }) : undefined;
    },
  });
  await using it = new TestToolServers([httpEntry("web", http.url)]);
  for (let n = 0; n < 5; n++) {
    await assertRejects(() => it.call("web", "echo", { text: "x" }), SvcError, "endpoint: down");
  }
  assertEquals((await it.item("web")).breaker, "open");
});

test("calls that hang end at the limit; five open the breaker, and the program is stopped", async () => {
  await using it = new TestToolServers([stdioEntry("prog", { timeout: "3s" })]);
  let pid = 0;
  await until(
    async () => {
      await it.clock.advance(60_000);
      pid = Number(await it.call("prog", "pid").catch(() => 0));
      return pid > 0;
    },
    "a start within the limit",
    60_000,
  );
  const hang = () => assertRejects(() => it.call("prog", "hang"), SvcError);
  for (const error of await Promise.all(Array.from({ length: 5 }, hang))) {
    assertEquals(error.code, "timeout");
    assertStringIncludes(error.message, "it did not answer within 3s");
  }
  assertEquals((await it.item("prog")).breaker, "open");
  assertStringIncludes((await hang()).message, "failed 5 times in a row");
  assert(await gone(pid));
  await it.clock.advance(10_000);
  assertEquals((await it.item("prog")).breaker, "half_open");
});

test("a call that its caller gives up ends at once and counts as nothing", async () => {
  await using it = new TestToolServers([stdioEntry("prog")]);
  for (let n = 0; n < 6; n++) {
    const stop = new AbortController();
    const call = it.call("prog", "hang", {}, { signal: stop.signal });
    await it.call("prog", "echo", { text: "meanwhile" });
    stop.abort(new Error("enough"));
    await assertRejects(() => call, Error, "enough");
  }
  assertEquals((await it.item("prog")).breaker, "closed");
});

test("no more calls at once than max_concurrent, by both transports", async () => {
  await using http = startHttpToolServer();
  await using it = new TestToolServers([
    stdioEntry("prog", { max_concurrent: 3 }),
    httpEntry("web", http.url, { max_concurrent: 2 }),
  ]);
  // Counted by process: the address is served by this one.
  for (const [server, most] of [["web", 2], ["prog", 3]] as const) {
    const args = { ms: 60, until: most };
    const calls = Array.from({ length: 8 }, () => it.call(server, "slow", args));
    assertEquals(new Set(await Promise.all(calls)), new Set([String(most)]), server);
  }
});

test("an answer of 100 MB is not read; memory stays and the connection works on", async () => {
  await using http = startHttpToolServer({
    instead: async (request) => {
      const body = request.method === "POST" ? await request.clone().text() : "";
      if (!body.includes('"big_json"')) return undefined;
      const { id } = JSON.parse(body);
      const chunk = new Uint8Array(1024 * 1024).fill(0x78);
      let left = 100;
      const stream = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(`{"id":${id},"x":"`)),
        pull: (controller) => left-- > 0 ? controller.enqueue(chunk) : controller.close(),
      });
      return new Response(stream, { headers: { "content-type": "application/json" } });
    },
  });
  await using it = new TestToolServers([
    stdioEntry("prog"),
    // Its own copy of the answer is in this process too.
    httpEntry("web", http.url),
  ]);
  const meanwhile = it.call("prog", "slow", { ms: 500 });
  const before = ownMemory();
  assertStringIncludes(await it.call("prog", "big", { bytes: 100e6 }), "larger than 2 MiB");
  const grown = ownMemory() - before;
  assert(grown < 90e6, `memory grew by ${grown}`);
  assertEquals(await meanwhile, "1", "another call of the same connection");
  const pid = await it.call("prog", "pid");
  assertEquals(await it.call("prog", "big", { bytes: 2_000_000 }), "x".repeat(2_000_000));
  assertEquals(await it.call("prog", "pid"), pid);

  assertStringIncludes(await it.call("web", "big", { bytes: 3_000_000 }), "larger than 2 MiB");
  assertEquals((await it.call("web", "big", { bytes: 2_000_000 })).length, 2_000_000);
  await assertRejects(() => it.call("web", "big_json"), SvcError, "larger than 2 MiB");
  assertEquals(await it.call("web", "echo", { text: "still here" }), "still here");
});

test("a server that asks for ever and reads no answer is ended", async () => {
  await using it = new TestToolServers([stdioEntry("prog", { env: { TOOL_SERVER: "pester" } })]);
  const { problems } = await it.tools();
  assertEquals(problems.map(({ server }) => server), ["prog"]);
  assertEquals((await it.item("prog")).connected, 0);
});

test("a list of tools that changes is listed again; a remembered one starts nothing", async () => {
  await using it = new TestToolServers([stdioEntry("prog", { idle_timeout: "5m" })]);
  assert(!(await it.names("prog")).includes("grown"));
  await it.call("prog", "grow");
  await until(async () => (await it.names("prog")).includes("grown"), "the new tool");
  assertEquals(await it.call("prog", "grown"), "grown");
  await it.clock.advance(5 * 60_000);
  await until(async () => (await it.item("prog")).connected === 0, "the idle stop");
  assert((await it.names("prog")).includes("grown"));
  assertEquals((await it.item("prog")).connected, 0);
  // What comes after a new start is listed anew.
  await it.call("prog", "pid");
  assert(!(await it.names("prog")).includes("grown"));
});

test("after its idle time a server is gone with its children, also those that left its group", async () => {
  await using it = new TestToolServers([
    stdioEntry("prog", { idle_timeout: "1m", env: { TOOL_SERVER: "stay" } }),
  ]);
  const pid = Number(await it.call("prog", "pid"));
  const below: number[] = JSON.parse(await it.call("prog", "spawn"));
  await it.clock.advance(59_999);
  assertEquals(Number(await it.call("prog", "pid")), pid, "a call begins the time anew");
  await it.clock.advance(59_999);
  assertEquals((await it.item("prog")).connected, 1);
  const slow = it.call("prog", "slow", { ms: 300 });
  await until(async () => await it.call("prog", "begun") === "1", "the call");
  await it.clock.advance(60_000);
  assertEquals(await slow, "1", "no stop while a call runs");
  await it.clock.advance(60_000);
  assertEquals((await it.item("prog")).connected, 0);
  for (const each of [pid, ...below]) assert(await gone(each), `${each} is still there`);
});

test("what a server writes to standard error is bounded in the log", async () => {
  await using it = new TestToolServers([stdioEntry("prog")]);
  await it.call("prog", "complain", { words: "x".repeat(1_000), times: 200 });
  await it.call("prog", "complain", { words: "y".repeat(100_000), times: 1 });
  await until(
    () => it.log.of("warn").includes("further output is not logged"),
    "the note about it",
  );
  const logged = it.log.lines.map(({ fields }) => String(fields.stderr ?? ""));
  assert(logged.join("").length < 70_000);
});

test("a server's question is answered with defaults where nobody is asked, else declined", async () => {
  await using it = new TestToolServers([stdioEntry("prog")]);
  const ask = async (args: Record<string, unknown>, answer_forms: boolean) =>
    JSON.parse(await it.call("prog", "ask", args, { answer_forms }));
  assertEquals(await ask({}, true), { action: "accept", content: { name: "somebody" } });
  assertEquals(await ask({ required: true }, true), { action: "decline" });
  assertEquals(await ask({}, false), { action: "decline" });
  // While a call of a session that asks is under way too, nobody knows whose question it is.
  const stop = new AbortController();
  const other = it.call("prog", "hang", {}, { signal: stop.signal });
  await until(async () => await it.call("prog", "begun") === "1", "the call");
  assertEquals(await ask({}, true), { action: "decline" });
  stop.abort(new Error("enough"));
  await assertRejects(() => other, Error, "enough");
});

test("another policy ends the servers that are not in it, after their calls", async () => {
  await using it = new TestToolServers([stdioEntry("keep"), stdioEntry("change")]);
  const [kept, changed] = [await it.call("keep", "pid"), await it.call("change", "pid")];
  const under_way = it.call("change", "slow", { ms: 200 });
  await until(async () => await it.call("change", "begun") === "1", "the call");
  it.configure(stdioEntry("keep"), stdioEntry("change", { max_concurrent: 2 }));
  assertEquals(await under_way, "1");
  assert(await gone(Number(changed)));
  assertEquals(await it.call("keep", "pid"), kept);
  assert(await it.call("change", "pid") !== changed);
  it.configure(stdioEntry("keep"));
  await assertRejects(() => it.call("change", "pid"), Error);
});

test("a project's servers are for its own directory, when they are allowed at all", async () => {
  using dir = new TempDir();
  const [one, two] = [dir.mkdir("one"), dir.mkdir("two")];
  const policy = policyOf(
    stdioEntry("mine", { auth_env: "TOOL_TOKEN" }),
    stdioEntry("hers", { auth_env: "OTHER_TOKEN" }),
    stdioEntry("taken"),
  );
  Deno.writeTextFileSync(`${one}/svc.policy.yaml`, policy);
  const env = { TOOL_TOKEN: SECRET, OTHER_TOKEN: SECRET };
  const at = (workdir: string) => ({ ...TRUSTED, workdir });
  {
    await using off = new TestToolServers([stdioEntry("taken")], { env });
    assertEquals((await off.servers.list(at(one))).items.map(({ name }) => name), ["taken"]);
  }
  await using on = new TestToolServers([stdioEntry("taken")], {
    env,
    allow_project: true,
    project_env: ["TOOL_TOKEN"],
  });
  // Nothing starts before a person has approved this very text for this directory.
  const waiting = await on.servers.list(at(one));
  const waits = `tool server mine: ${one}/svc.policy.yaml needs a person's approval`;
  assertEquals(waiting.items[1].problem, waits);
  const { file, approved, runs } = waiting.project!;
  assertEquals([file, approved], [`${one}/svc.policy.yaml`, false]);
  assertEquals(Object.keys(runs), ["mine", "hers", "taken"]);
  assertEquals([runs.mine.command, runs.mine.auth_env], [Deno.execPath(), "TOOL_TOKEN"]);
  const stop = new AbortController().signal;
  await assertRejects(() => on.servers.test("mine", at(one), stop), SvcError, waits);
  const { offered, problems: told } = await on.tools(at(one));
  assertEquals([offered.some(({ scope }) => scope === "project"), told.length], [false, 3]);
  await on.approve(one);
  const { items, problems } = await on.servers.list(at(one));
  assertEquals(items.map(({ name, scope }) => [name, scope]), [
    ["taken", "operator"],
    ["mine", "project"],
    ["hers", "project"],
  ]);
  assertStringIncludes(items[2].problem!, "OTHER_TOKEN, which [policy] project_env");
  assertEquals(problems.map(({ server }) => server), ["taken"]);
  assertEquals((await on.servers.list(at(two))).items.map(({ name }) => name), ["taken"]);
  assertEquals((await on.servers.list(TRUSTED)).items.map(({ name }) => name), ["taken"]);
  const options = { scope: at(one) };
  assertEquals(JSON.parse(await on.call("mine", "environment", {}, options)).TOOL_TOKEN, "***");
  const pid = Number(await on.call("mine", "pid", {}, options));
  // The same text elsewhere, and another text here, are other ones.
  Deno.writeTextFileSync(`${two}/svc.policy.yaml`, policy);
  assertEquals((await on.servers.list(at(two))).project?.approved, false);
  Deno.writeTextFileSync(`${one}/svc.policy.yaml`, `${policy}# changed\n`);
  assertEquals((await on.servers.list(at(one))).project?.approved, false);
  assert(await gone(pid));
  Deno.writeTextFileSync(`${one}/svc.policy.yaml`, "mcp_servers: [{}]\n");
  const broken = await on.tools(at(one));
  assertStringIncludes(broken.problems[0].message, `${one}/svc.policy.yaml:1: `);
  // Back to what was approved: nobody is asked twice.
  Deno.writeTextFileSync(`${one}/svc.policy.yaml`, policy);
  assertEquals((await on.item("mine", at(one))).problem, undefined);
});

/** Bytes that this test file's isolate holds: others run in the same process. */
function ownMemory(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}
