import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { shellTarget, writePolicy } from "../support/hire.ts";
import { has_restate, RestateServer, restateToml, TaskWorker } from "../support/restate.ts";
import { hasProgram } from "../support/programs.ts";
import { publishFor, testSigner, updateToml } from "../support/releases.ts";
import { Place } from "../support/svc.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import type { Json } from "./client.ts";
import { assertRpcError, connect, of, refused, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

function section7(name: string, fn: () => void | Promise<void>, options?: { ignore?: boolean }) {
  row("contract", "7 daemon.toml", name, fn, options);
}

/** A daemon with this configuration, and a client. */
async function configured(place: Place, toml: string) {
  place.configure(toml);
  const daemon = await place.serve();
  return { daemon, client: await connect(daemon) };
}

/** What a session of the defaults looks like. */
async function started(place: Place, toml: string, params: Json = {}): Promise<Json> {
  const { client } = await configured(place, toml);
  await using _ = client;
  const workdir = place.mkdir("w");
  const { session_id } = await client.call("session.start", { workdir, ...params });
  return await client.call("session.get", { session_id });
}

const model = (url = "http://127.0.0.1:9/v1", more = "") =>
  `\n[models.local]\nkind = "openai-compatible"\nbase_url = "${url}"\n${more}`;

section7("default_model", async () => {
  await using place = new Place();
  assertEquals((await started(place, `default_model = "local/m"\n${model()}`)).model, "local/m");
});

section7("default_model: else, without any credential, builtin/toolbelt", async () => {
  await using place = new Place();
  assertEquals((await started(place, "")).model, "builtin/toolbelt");
});

section7("default_model: else the first provider with a credential", async () => {
  await using place = new Place({ ANTHROPIC_API_KEY: "sk-none" });
  assert((await started(place, "")).model.startsWith("anthropic/"));
});

section7("default_workdir", async () => {
  await using place = new Place();
  const workdir = place.mkdir("project");
  const { client } = await configured(place, `default_workdir = "${workdir}"\n`);
  await using _ = client;
  assertEquals((await client.call("session.start", {})).workdir, workdir);
});

section7("[agent] approval", async () => {
  for (const approval of ["auto", "ask", "read_only"]) {
    await using place = new Place();
    const got = await started(place, `[agent]\napproval = "${approval}"\n`);
    assertEquals(got.approval, approval);
  }
});

section7("[agent] budget_usd, where the session has none of its own", async () => {
  let asked = 0;
  // Each call differs: the same one again and again would end the turn as a loop.
  const list = () => ({
    calls: [{ name: "list_dir", args: { path: `.${"/.".repeat(++asked)}` } }],
    usage: { input: 1e6, output: 0 },
  });
  const server = startOpenAiServer(list, { open: true });
  try {
    await using place = new Place();
    const prices = '[prices."local/m"]\ninput = 1\noutput = 1\n';
    const toml = `[agent]\nbudget_usd = 5.0\n${model(server.url)}${prices}`;
    const { client } = await configured(place, toml);
    await using _ = client;
    // A dollar a request.
    for (const [params, requests] of [[{}, 5], [{ budget_usd: 2 }, 2]] as const) {
      const workdir = place.mkdir("w");
      const session_id = await client.session({ workdir, model: "local/m", ...params });
      const before = server.requests.length;
      const { data } = await client.turn(session_id, `go ${requests}`);
      assertEquals([data.stop_reason, server.requests.length - before], ["budget", requests]);
    }
  } finally {
    await server.close();
  }
});

section7("[agent] max_steps; [models.<name>] kind, base_url, api_key_env", async () => {
  const server = startOpenAiServer(() => ({ calls: [{ name: "list_dir", args: {} }] }), {
    api_key: "sk-from-the-environment",
  });
  try {
    await using place = new Place({ LOCAL_KEY: "sk-from-the-environment" });
    const { client } = await configured(
      place,
      `[agent]\nmax_steps = 3\n${model(server.url, 'api_key_env = "LOCAL_KEY"\n')}`,
    );
    await using _ = client;
    const session_id = await client.session({ workdir: place.mkdir("w"), model: "local/m" });
    const { data } = await client.turn(session_id, "go");
    assertEquals([data.stop_reason, server.requests.length], ["budget", 3]);
    assertEquals(server.requests.map(({ status }) => status), [200, 200, 200]);
    assertEquals(server.requests[0].body.model, "m");
  } finally {
    await server.close();
  }
});

section7("[sandbox] shell, network, units", async () => {
  for (const shell of ["auto", "none"]) {
    await using place = new Place();
    const toml = `[sandbox]\nshell = "${shell}"\nnetwork = true\nunits = 1\n`;
    const { client } = await configured(place, toml);
    await using _ = client;
    const session_id = await client.session({ workdir: place.mkdir("w"), approval: "auto" });
    await client.turn(session_id, "run echo ran\nls");
    assertEquals(of(client, "session.tool_completed").map(({ data }) => data.ok), [true, true]);
  }
});

section7('[sandbox] shell = "bubblewrap", network: a net of its own unless true', async () => {
  const host = Deno.readLinkSync("/proc/self/ns/net");
  for (const network of [false, true]) {
    await using place = new Place();
    const toml = `[sandbox]\nshell = "bubblewrap"\nnetwork = ${network}\n`;
    const { client } = await configured(place, toml);
    await using _ = client;
    const session_id = await client.session({ workdir: place.mkdir("w"), approval: "auto" });
    await client.turn(session_id, "run readlink /proc/self/ns/net");
    const [{ data }] = of(client, "session.tool_completed");
    assertEquals([data.ok, data.output.trim() === host], [true, network], data.output);
  }
}, { ignore: Deno.build.os !== "linux" || !hasProgram("bwrap") });

section7("[log] level", async () => {
  const lines = async (level: string) => {
    await using place = new Place();
    const { client, daemon } = await configured(place, `[log]\nlevel = "${level}"\n`);
    await using _ = client;
    await client.call("session.start", { workdir: place.mkdir("w") });
    await daemon.stop();
    // Without anything to say there may be no file.
    const log = await Deno.readTextFile(join(place.home, "log", "daemon.ndjson")).catch(() => "");
    return log.trimEnd().split("\n").filter(Boolean).map((line) => JSON.parse(line));
  };
  assert((await lines("info")).some(({ level }) => level === "info"));
  assertEquals((await lines("error")).filter(({ level }) => level !== "error"), []);
});

section7(
  "[http] allowed_origins, [journal] retention_hours and retention_mb are accepted",
  async () => {
    await using place = new Place();
    const toml = '[http]\nallowed_origins = ["http://localhost:5173"]\n' +
      "[journal]\nretention_hours = 24\nretention_mb = 100\n";
    const { client } = await configured(place, toml);
    await using _ = client;
    assertEquals((await client.call("daemon.health")).status, "ok");
  },
);

section7("[tasks] workers", async () => {
  await using place = new Place();
  const { client } = await configured(place, "[tasks]\nworkers = 3\n");
  await using _ = client;
  assertEquals((await client.call("queue.status")).workers, 3);
});

section7('[tasks] engine = "restate", restate_url: tasks are kept on the server', async () => {
  await using place = new Place();
  await using server = await RestateServer.start(join(place.dir, "restate"));
  const toml = restateToml(server);
  const request = { task_type: "deploy", description: "x", extra: { dry_run: true, target: "t" } };
  const targets = { deploy_targets: [shellTarget("t", place.dir, "true")] };
  writePolicy(place, targets);
  const { daemon, client } = await configured(place, toml);
  await using _ = client;
  await using _worker = await TaskWorker.start(place);
  const { id, status } = await client.call("task.run", request);
  assertEquals(status, "completed");
  await daemon.stop();
  await using other = new Place();
  const { client: elsewhere } = await configured(other, toml);
  await using __ = elsewhere;
  assertEquals((await elsewhere.call("task.get", { task_id: id })).status, "completed");
}, { ignore: !has_restate });

/** Content, what the message names besides the file: the line, the key, the nearest key. */
const BAD: [string, string, string[]][] = [
  ["a syntax error", '[agent]\napproval = "ask\n', ["2"]],
  ["a wrong type: a number for a text", "\n[agent]\napproval = 7\n", ["3", "approval"]],
  ["a wrong type: a text for a number", '[agent]\nmax_steps = "many"\n', ["2", "max_steps"]],
  ["a wrong type: a text for a list", '[http]\nallowed_origins = "x"\n', ["2", "allowed_origins"]],
  ["a wrong type: a text for a truth", '[sandbox]\nnetwork = "no"\n', ["2", "network"]],
  ["a value that is none of the allowed", '[agent]\napproval = "never"\n', ["2", "approval"]],
  ["a shell that is none", '[sandbox]\n\nshell = "bash"\n', ["3", "shell", "bubblewrap"]],
  ["an unknown key", "[agent]\nmax_step = 5\n", ["2", "max_step", "max_steps"]],
  ["an unknown key at the top", 'default_modell = "x"\n', ["1", "default_modell", "default_model"]],
  ["an unknown table", "\n\n[jornal]\nretention_mb = 5\n", ["3", "jornal", "journal"]],
  ["an unknown key of a model", model(undefined, 'api_key = "x"\n'), [
    "5",
    "api_key",
    "api_key_env",
  ]],
  ["a key that is set twice", "[agent]\nmax_steps = 5\nmax_steps = 6\n", ["3", "agent.max_steps"]],
  ["a table that is there twice", "[agent]\n[log]\n[agent]\n", ["3", "agent"]],
  ["a key in a table of one line and below it", "log = {}\n[log]\n", ["2", "log"]],
  ["a model without an address", '\n[models.x]\nkind = "openai-compatible"\n', [
    "2",
    "models.x.base_url",
  ]],
  ["an origin that matches no page", '[http]\nallowed_origins = ["http://localhost:5173/"]\n', [
    "2",
    "http.allowed_origins",
    "did you mean",
  ]],
];
/** Reads one bad file after the other, and keeps what it began with. */
const reloading = new Shared('[agent]\napproval = "read_only"\n');
for (const [what, toml, named] of BAD) {
  section7(`${what}: refuses to start; file, line, key, nearest key`, async () => {
    await using place = new Place();
    place.configure(toml);
    const { code, stdout, stderr } = await refused(place);
    assertEquals([code, stdout], [1, ""]);
    assertStringIncludes(stderr, join(place.home, "daemon.toml"));
    const [line, ...words] = named;
    const said = stderr.replaceAll(place.home, "");
    assert(new RegExp(`(:|line )${line}\\b`).test(said), stderr);
    for (const word of words) assertStringIncludes(said, word);
  });

  section7(
    `${what}: daemon.reload_config answers -32001, keeps the old configuration`,
    async () => {
      const { place } = reloading;
      await using client = await connect(reloading);
      place.configure(toml);
      const error = await client.fails("daemon.reload_config");
      assertRpcError(error, -32001, "validation");
      const said = JSON.stringify([error.message, error.data]);
      for (const word of [join(place.home, "daemon.toml"), ...named.slice(1)]) {
        assertStringIncludes(said, word);
      }
      const { session_id } = await client.call("session.start", { workdir: place.mkdir("w") });
      assertEquals((await client.call("session.get", { session_id })).approval, "read_only");
      assert(reloading.pid > 0);
    },
  );
}

section7("daemon.reload_config with a good file: it holds from then on", async () => {
  await using place = new Place();
  const { client } = await configured(place, '[agent]\napproval = "read_only"\n');
  await using _ = client;
  const approval = async () => {
    const { session_id } = await client.call("session.start", { workdir: place.mkdir("w") });
    return (await client.call("session.get", { session_id })).approval;
  };
  assertEquals(await approval(), "read_only");
  place.configure('[agent]\napproval = "auto"\n');
  assertEquals(await approval(), "read_only");
  await client.call("daemon.reload_config");
  assertEquals(await approval(), "auto");
});

section7("daemon.set_config leaves a file with a key that is set twice as it is", async () => {
  await using place = new Place();
  const { client } = await configured(place, "[agent]\nmax_steps = 7\n");
  await using _ = client;
  const path = join(place.home, "daemon.toml");
  const toml = "[agent]\nmax_steps = 7\nmax_steps = 8\n";
  Deno.writeTextFileSync(path, toml);
  for (const verb of ["daemon.set_config", "daemon.get_config"]) {
    const error = await client.fails(verb, { changes: { "agent.max_steps": 9 } });
    assertRpcError(error, -32001, "validation");
    assertStringIncludes(
      error.message,
      `${path}:3: agent.max_steps: is set twice, first on line 2`,
    );
  }
  assertEquals(Deno.readTextFileSync(path), toml);
});

section7("[update] manifest_url, public_key", async () => {
  await using place = new Place();
  await using server = await publishFor(place, "9.0.0");
  const found = await place.svc(["update", "--check", "--json"]);
  assertEquals([found.code, JSON.parse(found.stdout).latest], [0, "9.0.0+test"], found.stderr);
  place.configure(updateToml(server, await testSigner()));
  const { code, stderr } = await place.svc(["update", "--check"]);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "not made with a trusted key");
});
