/** What an MCP client can do beside calling a tool, over standard input and output and over HTTP. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Shared } from "../contract/shared.ts";
import { longProject, McpClient } from "../support/mcp.ts";
import { processesWith, until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- answers are looked into
type Json = any;

type Connect = (place: Place, daemon: Daemon, options?: Options) => Promise<McpClient>;
interface Options {
  caps?: string;
  toolset?: string;
  safe_names?: boolean;
  /** The client's name in `clientInfo`. */
  name?: string;
}

const OVER: Record<string, Connect> = {
  stdio: (place, _daemon, { caps, toolset, safe_names, name } = {}) =>
    McpClient.stdio(place, [
      ...(caps === undefined ? [] : ["--caps", caps]),
      ...(toolset === undefined ? [] : ["--toolset", toolset]),
      ...(safe_names ? ["--safe-names"] : []),
    ], name),
  HTTP: (_place, daemon, { name, ...options } = {}) => {
    const chosen = Object.entries(options).map(([key, value]) => [key, String(value)]);
    return McpClient.http(daemon, `?${new URLSearchParams(chosen)}`, name);
  },
};

/** What a test is given. */
interface Given {
  place: Place;
  daemon: Daemon;
  /** A new directory to work in. */
  workdir(): string;
  connect(options?: Options): Promise<McpClient>;
}

const shared = new Shared();
let workdirs = 0;

/** A test over each of the two, with the daemon that others use too. */
function overBoth(name: string, fn: (it: Given) => Promise<void>): void {
  onEach(name, ({ place, daemon }, given) => fn(given(place, daemon)));
}

/** A test over each of the two, with a daemon where nothing has happened yet. */
function onFresh(name: string, fn: (it: Given) => Promise<void>): void {
  onEach(name, async (_, given) => {
    await using place = new Place();
    await fn(given(place, await place.serve()));
  });
}

function onEach(
  name: string,
  run: (shared: Shared, given: (place: Place, daemon: Daemon) => Given) => Promise<void>,
): void {
  for (const [over, connect] of Object.entries(OVER)) {
    Deno.test({
      name: `MCP over ${over}: ${name}`,
      ignore: !can_run_svc,
      fn: () =>
        run(shared, (place, daemon) => ({
          place,
          daemon,
          workdir: () => place.mkdir(`work-${++workdirs}`),
          connect: (options) => connect(place, daemon, options),
        })),
    });
  }
}

overBoth("a cancelled call stops its work", async ({ place, connect }) => {
  await using client = await connect();
  const seconds = `600.${Deno.pid}`;
  const stop = new AbortController();
  const call = client.client.callTool(
    { name: "svc.verify.test", arguments: longProject(place, seconds) },
    undefined,
    { signal: stop.signal, timeout: 120_000 },
  );
  call.catch(() => {});
  await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command");
  stop.abort();
  await assertRejects(() => call);
  await until(() => processesWith(`sleep ${seconds}`).length === 0, "its end");
});

overBoth("a call that is asked to reports its progress", async ({ workdir, connect }) => {
  await using client = await connect();
  const reports: Json[] = [];
  const { structuredContent } = await client.client.callTool(
    {
      name: "svc.task.run",
      arguments: { task_type: "code", description: "help", extra: { workdir: workdir() } },
    },
    undefined,
    { onprogress: (report) => void reports.push(report) },
  ) as Json;
  assertEquals(structuredContent.data.status, "completed");
  assertEquals(reports.map(({ progress }) => progress), reports.map((_, n) => n + 1));
  assert(reports[0].message.startsWith("session sess_"), JSON.stringify(reports));
});

overBoth(
  "a resource that is subscribed to is reported when it changes",
  async ({ workdir, connect }) => {
    await using client = await connect();
    const { session_id } = await client.data("svc.session.start", { workdir: workdir() });
    const uri = `svc://sessions/${session_id}/transcript`;
    await client.client.subscribeResource({ uri });
    await client.data("svc.session.send", { session_id, text: "help" });
    await client.until(() => client.updated.includes(uri), "resources/updated");
    await until(async () => {
      const { contents: [{ text }] } = await client.client.readResource({ uri }) as Json;
      return JSON.parse(text).messages.length === 2;
    }, "the answer");
    await client.client.unsubscribeResource({ uri });
    await assertRejects(
      () => client.client.subscribeResource({ uri: "svc://sessions" }),
      Error,
      "cannot be subscribed to",
    );
    await assertRejects(
      () => client.client.subscribeResource({ uri: uri.replace("sess_0", "sess_Z") }),
      Error,
      "-32002",
    );
  },
);

onFresh("the resources can be listed and read", async ({ workdir, connect }) => {
  await using client = await connect();
  const { session_id } = await client.data("svc.session.start", {
    workdir: workdir(),
    prompt: "help",
  });
  await until(async () => {
    const { activity, messages_count } = await client.data("svc.session.get", { session_id });
    return activity === "idle" && messages_count > 0;
  }, "the end of the turn");
  const { resources } = await client.client.listResources();
  const uris = resources.map(({ uri }) => uri);
  for (const uri of ["svc://sessions", `svc://sessions/${session_id}/journal`]) {
    assert(uris.includes(uri), uris.join(" "));
  }
  for (const uri of uris) {
    const { contents: [{ text, mimeType }] } = await client.client.readResource({ uri }) as Json;
    if (mimeType === "application/json") JSON.parse(text);
  }
  const { resourceTemplates } = await client.client.listResourceTemplates();
  assert(resourceTemplates.some(({ uriTemplate }) => uriTemplate.includes("/lanes/")));

  const journal = `svc://sessions/${session_id}/journal`;
  const { contents: [whole] } = await client.client.readResource({ uri: journal }) as Json;
  const seqs = whole.text.trimEnd().split("\n").map((line: string) => JSON.parse(line).seq);
  assertEquals(seqs, seqs.map((_: number, n: number) => n + 1));
  const after = `${journal}?since_seq=${seqs.at(-1) - 1}`;
  const { contents: [last] } = await client.client.readResource({ uri: after }) as Json;
  assertEquals(last.text.trimEnd().split("\n").length, 1);
  assertEquals(last._meta, { last_seq: seqs.at(-1) });
  await assertRejects(() => client.client.readResource({ uri: "svc://nothing" }), Error, "-32002");
  await assertRejects(
    () => client.client.readResource({ uri: `${journal}?since_seq=x` }),
    Error,
    "since_seq",
  );
});

overBoth(
  "what a subscription pushes comes as log messages, in order",
  async ({ workdir, connect }) => {
    await using client = await connect();
    const { session_id } = await client.data("svc.session.start", { workdir: workdir() });
    const { sub } = await client.data("svc.session.subscribe", { session_id, since_seq: 0 });
    const tail = await client.data("svc.bus.tail", { session_id, since_seq: 0 });
    assert(tail.sub !== sub);
    await client.data("svc.session.send", { session_id, text: "help" });
    const ended = (of: number) => () =>
      client.pushed.find((it) => it.sub === of && it.type === "turn.completed");
    await client.until(ended(sub), "turn.completed");
    await client.until(ended(tail.sub), "turn.completed of the bus");
    const seqs = client.pushed.filter((it) => it.sub === sub).map(({ seq }) => seq);
    assertEquals(seqs, seqs.map((_, n) => n + 1));

    await client.data("svc.session.unsubscribe", { sub });
    await client.data("svc.session.kill", { session_id });
    await client.until(
      () => client.pushed.find((it) => it.sub === tail.sub && it.type === "session.ended"),
      "session.ended of the bus",
    );
    assert(!client.pushed.some((it) => it.sub === sub && it.type === "session.ended"));
  },
);

overBoth("a log level keeps what is below it back", async ({ workdir, connect }) => {
  await using quiet = await connect();
  await using hearing = await connect();
  const { session_id } = await quiet.data("svc.session.start", { workdir: workdir() });
  await quiet.client.setLoggingLevel("error");
  await hearing.client.setLoggingLevel("info");
  for (const client of [quiet, hearing]) {
    await client.data("svc.session.subscribe", { session_id, since_seq: 0 });
  }
  await quiet.data("svc.session.send", { session_id, text: "help" });
  await hearing.until(
    () => hearing.pushed.find(({ type }) => type === "turn.completed"),
    "turn.completed",
  );
  await quiet.client.ping();
  assertEquals(quiet.pushed, []);
});

onFresh("caps limit what is listed and what is done", async ({ place, workdir, connect }) => {
  await using read = await connect({ caps: "read" });
  const { tools } = await read.client.listTools();
  assert(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
  const { structuredContent } = await read.call("svc.session.start", { workdir: place.dir });
  assertEquals(structuredContent.error_code, "permission_denied");
  assertEquals((await read.data("svc.session.list")).sessions, []);

  await using write = await connect({ caps: "write" });
  const names = (await write.client.listTools()).tools.map(({ name }) => name);
  assert(names.includes("svc.session.start") && !names.includes("svc.session.kill"));
  const { session_id } = await write.data("svc.session.start", { workdir: workdir() });
  const killed = await write.call("svc.session.kill", { session_id });
  assertEquals(killed.structuredContent.error_code, "permission_denied");
  assertEquals((await write.data("svc.session.get", { session_id })).state, "running");
});

onFresh("safe names have no dots", async ({ connect }) => {
  await using client = await connect({ safe_names: true });
  const { tools } = await client.client.listTools();
  assert(tools.every(({ name }) => /^[a-z0-9_]+$/.test(name)));
  assertEquals((await client.data("svc_session_list")).sessions, []);
  assertEquals((await client.data("svc.session.list")).sessions, [], "calls take both spellings");
  await assertRejects(() => client.call("svc_session_lists"), Error, "mean svc_session_list");
});

onFresh("a client that is known to refuse dots gets none by itself", async ({ connect }) => {
  await using client = await connect({ name: "ai-sdk-mcp-client" });
  const { tools } = await client.client.listTools();
  assert(tools.every(({ name }) => /^[a-z0-9_]+$/.test(name)));
  assertEquals((await client.data("svc_session_list")).sessions, []);
  assertEquals((await client.data("svc.session.list")).sessions, []);
  const { messages } = await client.client.getPrompt({
    name: "start_session",
    arguments: { workdir: "/tmp", task: "x" },
  });
  const told = JSON.stringify(messages);
  assert(told.includes("svc_session_start") && !told.includes("svc.session"), told);
});

onFresh("the core toolset lists few tools, and calls take all", async ({ connect }) => {
  await using client = await connect({ toolset: "core" });
  const { tools } = await client.client.listTools();
  assert(tools.length > 10 && tools.length <= 16, String(tools.length));
  assert(tools.some(({ name, title }) => name === "svc.session.start" && title !== undefined));
  assert(!tools.some(({ name }) => name === "svc.lanes.list"));
  assertEquals((await client.data("svc.queue.status")).queued, 0);
});

overBoth("no tool tells the daemon's token", async ({ daemon, connect }) => {
  await using client = await connect();
  const answer = await client.call("svc.daemon.discover");
  assert(!JSON.stringify(answer).includes(daemon.token));
  assertEquals(answer.structuredContent.data.port, daemon.port);
});

onFresh("prompts are filled in, and their arguments completed", async ({ workdir, connect }) => {
  await using client = await connect();
  const { session_id } = await client.data("svc.session.start", {
    workdir: workdir(),
    approval: "ask",
    prompt: "run echo hi",
  });
  let approval_id = "";
  await until(async () => {
    const { pending_approvals } = await client.data("svc.session.get", { session_id });
    approval_id = pending_approvals[0]?.approval_id ?? "";
    return approval_id !== "";
  }, "the approval");

  const { prompts } = await client.client.listPrompts();
  const values: Json = {
    workdir: "/w",
    task: "tidy up",
    session_id,
    approval_id,
    lane_id: "main",
  };
  for (const { name, arguments: args = [] } of prompts) {
    const given = Object.fromEntries(args.map((it) => [it.name, values[it.name] ?? "x/y"]));
    const { messages } = await client.client.getPrompt({ name, arguments: given });
    assert(JSON.stringify(messages).length > 50, name);
  }
  const triage = await client.client.getPrompt({ name: "triage_approvals" });
  assert(JSON.stringify(triage).includes(approval_id));
  await assertRejects(() => client.client.getPrompt({ name: "none" }), Error, "-32602");
  await assertRejects(
    () => client.client.getPrompt({ name: "review_session" }),
    Error,
    "session_id",
  );

  const complete = async (ref: Json, name: string, value: string, known: Json = {}) =>
    (await client.client.complete({
      ref,
      argument: { name, value },
      context: { arguments: known },
    })).completion.values;
  const prompt = { type: "ref/prompt", name: "decide_approval" };
  assertEquals(await complete(prompt, "session_id", session_id.slice(0, 12)), [session_id]);
  assertEquals(await complete(prompt, "session_id", "none"), []);
  assertEquals(await complete(prompt, "approval_id", "", { session_id }), [approval_id]);
  const lane = { type: "ref/resource", uri: "svc://sessions/{session_id}/lanes/{lane_id}" };
  assertEquals(await complete(lane, "lane_id", "ma", { session_id }), ["main"]);
  assertEquals(await complete({ ...prompt, name: "none" }, "x", ""), []);
});
