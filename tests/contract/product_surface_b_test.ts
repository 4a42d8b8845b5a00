/** product.md, surface B: the task-hiring endpoint. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Hire, SharedHire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { firstLine } from "../support/processes.ts";
import { heronPage, Site } from "../support/site.ts";
import { gone, Place, spawnSvc } from "../support/svc.ts";
import { row } from "./row.ts";
import { eventually, exists, isTimestamp, ownHome } from "./shared.ts";

const COMMAND = "svc agent-serve";
const CAPABILITIES = "Capabilities record";
const REQUEST = "Task request";
const RECORD = "Task record";
const STATUS = "Task status";
const SYNC = "Synchronous model";
const AUTH = "Authentication, surface B";
const ERRORS = "Errors, surface B";

const shared = new SharedHire((place) => {
  const dir = place.mkdir("deploy");
  writePolicy(place, {
    deploy_targets: [
      waits("waits", dir),
      stubborn("stubborn", dir),
      shellTarget("broken", dir, "echo the disk is full >&2; exit 3"),
    ],
  });
}, { args: ["--allow-private"] });

const WAIT = "sleep 60 & echo $! >child; wait";
const waits = (name: string, dir: string) => shellTarget(name, dir, WAIT);
const stubborn = (name: string, dir: string) =>
  shellTarget(name, dir, `trap "" TERM; ${WAIT}; ${WAIT}`);

function research(site: Site, more = {}) {
  const extra = { urls: [`${site.origin}/`] };
  return { task_type: "research", query: "What does a heron do?", extra, ...more };
}

// ── the command ──────────────────────────────────────────────────────────────────────────────────

row("product", COMMAND, "--addr: listen address; the daemon's own port is another", async () => {
  assert(shared.hire.port !== shared.hire.daemon_port);
  const health = await fetch(`http://127.0.0.1:${shared.hire.daemon_port}/v1/health`);
  assertEquals((await health.json()).status, "ok");
  const { status } = await shared.hire.request("GET", "/v1/health");
  assertEquals(status, 404, "surface A is not on this listener");
});

row(
  "product",
  COMMAND,
  "svc agent-serve runs in the foreground and drains on SIGTERM",
  async () => {
    await using place = new Place({ SVC_SERVE_TOKENS: TOKENS[0] });
    ownHome(place);
    const child = spawnSvc(place, ["agent-serve", "--addr", "127.0.0.1:0"]);
    const line = await firstLine(child);
    assertMatch(line, /^svc is listening on/);
    child.kill("SIGTERM");
    const { code, stderr } = await child.output();
    assertEquals(code, 0);
    assertStringIncludes(new TextDecoder().decode(stderr), "svc serve --enable-agent-routes");
  },
);

row("product", COMMAND, "with a daemon that runs already: a message, exit code 1", async () => {
  const { code, stderr } = await shared.place.svc(["agent-serve", "--addr", "127.0.0.1:0"]);
  assertEquals(code, 1);
  assertStringIncludes(stderr, `pid ${shared.hire.pid}`);
  assertStringIncludes(stderr, "stop it first");
});

row(
  "product",
  COMMAND,
  "--task-timeout: durations such as 90s; anything else is refused",
  async () => {
    for (const timeout of ["90", "soon", "-5s", "0s"]) {
      const { code, stderr } = await shared.place.svc(["agent-serve", `--task-timeout=${timeout}`]);
      assertEquals(code, 2, stderr);
      assertStringIncludes(stderr, "90s, 10m or 1h");
    }
  },
);

row(
  "product",
  COMMAND,
  "--caps: what is advertised and accepted; an unknown type is refused",
  async () => {
    const { code, stderr } = await shared.place.svc(["agent-serve", "--caps", "research,brwser"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, 'did you mean "browser"?');
    await using other = new Place();
    await using narrow = await Hire.serve(other, {
      args: ["--caps", "browser, research"],
      tokens: [],
    });
    const { json } = await narrow.request("GET", "/api/capabilities");
    assertEquals(json.task_types, ["browser", "research"]);
    const { status, json: refused } = await narrow.request("POST", "/api/task", {
      body: { task_type: "deploy", query: "now" },
    });
    assertEquals([status, refused.error.code], [400, "validation"]);
    assertStringIncludes(refused.error.message, "browser, research");
  },
);

row(
  "product",
  COMMAND,
  "the bare listener is not to be exposed: tokens, or --insecure",
  async () => {
    const { code, stderr } = await shared.place.svc(["agent-serve", "--addr", "0.0.0.0:0"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "SVC_SERVE_TOKENS");
    assertStringIncludes(stderr, "--insecure");
  },
);

// ── capabilities ─────────────────────────────────────────────────────────────────────────────────

row("product", CAPABILITIES, "version, task_types, budget_usd, requires_auth; public", async () => {
  const { status, json } = await shared.hire.request("GET", "/api/capabilities", { token: null });
  assertEquals(status, 200);
  const { version, ...rest } = json;
  const health = await fetch(`http://127.0.0.1:${shared.hire.daemon_port}/v1/health`);
  assertEquals(version, (await health.json()).version);
  assertEquals(rest, {
    task_types: ["research", "browser", "deploy", "code"],
    budget_usd: 5,
    requires_auth: true,
  });
});

// ── the task ─────────────────────────────────────────────────────────────────────────────────────

row(
  "product",
  REQUEST,
  "task_type, query, description, effort: answered when it is done",
  async () => {
    await using site = new Site(heronPage);
    const body = research(site, { description: "Say what a heron does.", effort: "standard" });
    const { status, json } = await shared.hire.request("POST", "/api/task", { body });
    assertEquals(status, 200);
    assertEquals([json.status, json.task_type], ["completed", "research"], JSON.stringify(json));
    assertStringIncludes(json.summary, "The grey heron stands still for hours");
  },
);

row("product", RECORD, "id, timestamps, summary, size; read again by its id", async () => {
  await using site = new Site(heronPage);
  const record = await shared.hire.task(research(site));
  assertMatch(record.id, /^t-/);
  for (const name of ["created_at", "started_at", "completed_at"]) {
    assert(isTimestamp(record[name]), name);
  }
  assert(record.created_at <= record.started_at && record.started_at <= record.completed_at);
  assertEquals(record.size, new TextEncoder().encode(record.summary).length);
  assertEquals(record.error, undefined);
  const { status, json } = await shared.hire.request("GET", `/api/task/${record.id}`);
  assertEquals([status, json], [200, record]);
});

row("product", STATUS, "running to failed: error says what went wrong", async () => {
  const record = await shared.hire.task({
    task_type: "deploy",
    query: "deploy it",
    extra: { target: "broken" },
  });
  assertEquals([record.status, record.summary], ["failed", undefined]);
  assertStringIncludes(record.error, "the disk is full");
  assertStringIncludes(record.error, "exit code 3");
  assert(isTimestamp(record.completed_at));
});

row("product", SYNC, "a client that aborts cancels the task: its processes are gone", async () => {
  for (const target of ["waits", "stubborn"]) {
    const dir = join(shared.place.dir, "deploy");
    const { child, stop, asking } = await waitingTask(shared.hire, target, dir);
    stop.abort();
    await asking;
    assert(await gone(child), "a child process of the executor lives on");
    Deno.removeSync(join(dir, "child"));
    const list = async () => {
      const { stdout } = await shared.place.svc(["task", "list", "--json"]);
      return JSON.parse(stdout).tasks;
    };
    assert(await eventually(async () => (await list())[0].status !== "running"));
    const [newest] = await list();
    assertEquals([newest.status, newest.error], ["failed", "cancelled by the client"]);
  }
});

row("product", ERRORS, "task timeout: the answer comes at the deadline", async () => {
  await using other = new Place();
  const dirs = ["obeys", "stubborn"].map((name) => other.mkdir(name));
  writePolicy(other, { deploy_targets: [waits("waits", dirs[0]), stubborn("stubborn", dirs[1])] });
  await using short = await Hire.serve(other, { args: ["--task-timeout", "5s"] });
  // The second one's command ends for SIGKILL only.
  await Promise.all(["waits", "stubborn"].map(async (target, n) => {
    const { child, asking } = await waitingTask(short, target, dirs[n]);
    const record = await asking;
    assertEquals([record.status, record.error], ["failed", "deadline of 5s exceeded"]);
    assert(await gone(child));
  }));
});

/** Starts a deployment that does not end by itself; the id of a process it started. */
async function waitingTask(hire: Hire, target: string, dir: string) {
  const path = join(dir, "child");
  const stop = new AbortController();
  const body = { task_type: "deploy", query: "deploy it", extra: { target } };
  const asking = hire.task(body, { signal: stop.signal }).catch(() => undefined);
  assert(await eventually(() => written(path)));
  return { child: Number(Deno.readTextFileSync(path)), stop, asking };
}

/** Whether a file is there and has something in it. */
function written(path: string): boolean {
  return exists(path) && Deno.readTextFileSync(path) !== "";
}

// ── authentication and errors ────────────────────────────────────────────────────────────────────

row("product", AUTH, "X-Svc-Bearer with any of the listed tokens", async () => {
  for (const token of TOKENS) {
    const { status } = await shared.hire.request("GET", "/api/task/t-none", { token });
    assertEquals(status, 404, "past the token");
  }
});

row("product", AUTH, "a missing or wrong token gives 401", async () => {
  for (const token of [null, "", "wrong", `${TOKENS[0]}x`, TOKENS[0].slice(0, -1), TOKENS.join()]) {
    for (const [method, path] of [["POST", "/api/task"], ["GET", "/api/task/t-none"]]) {
      const body = method === "POST" ? { task_type: "research", query: "x" } : undefined;
      const { status, json } = await shared.hire.request(method, path, { token, body });
      assertEquals([status, json.error.code], [401, "unauthenticated"], `${method} ${token}`);
    }
  }
});

row("product", AUTH, "an empty token list disables authentication, and warns", async () => {
  await using site = new Site(heronPage);
  await using other = new Place();
  const open = await Hire.serve(other, { tokens: [], args: ["--allow-private"] });
  const { json } = await open.request("GET", "/api/capabilities");
  assertEquals(json.requires_auth, false);
  assertEquals((await open.task(research(site))).status, "completed");
  assertEquals(await open.stop(), 0);
  assertStringIncludes(await open.log, "SVC_SERVE_TOKENS is empty");
  assert(!(await open.log).includes("Uncaught"), "what reads pages has broken");
});

row("product", RECORD, "records are kept: read again after a restart", async () => {
  await using site = new Site(heronPage);
  await using other = new Place();
  const args = ["--allow-private"];
  const first = await Hire.serve(other, { args });
  const record = await first.task(research(site));
  await first.kill();
  await using second = await Hire.serve(other, { args });
  assertEquals((await second.request("GET", `/api/task/${record.id}`)).json, record);
});

row("product", SYNC, "a crash loses only the running task", async () => {
  await using other = new Place();
  const dir = other.mkdir("deploy");
  writePolicy(other, { deploy_targets: [shellTarget("waits", dir, "echo $$ >pid; sleep 60")] });
  const first = await Hire.serve(other);
  const body = { task_type: "deploy", query: "x", extra: { target: "waits" } };
  const asking = first.task(body).catch(() => undefined);
  assert(await eventually(() => written(join(dir, "pid"))));
  await first.kill();
  await asking;
  try {
    Deno.kill(-Number(Deno.readTextFileSync(join(dir, "pid"))), "SIGKILL");
  } catch {
    // It has ended with the daemon.
  }
  await using _second = await Hire.serve(other);
  const { stdout } = await other.svc(["task", "list", "--json"]);
  const { status, error } = JSON.parse(stdout).tasks[0];
  assertEquals([status, error], ["failed", "lost when the daemon stopped"]);
});
