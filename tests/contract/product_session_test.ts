/** product.md, Resources: Session; and the states of a session as far as they are shown. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { row } from "./row.ts";
import { createSession, isTimestamp, Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Session";
const STATE = "Session state";
const CONFIG = fromFileUrl(new URL("../../deno.json", import.meta.url));

async function listed(id: string) {
  const { json } = await shared.http("GET", "/v1/sessions");
  return json.sessions.find((item: { id: string }) => item.id === id);
}

row("product", SECTION, "workdir: create request and response, list item", async () => {
  const workdir = shared.workdir();
  const created = await createSession(shared.daemon, { workdir });
  assertEquals(created.workdir, workdir);
  assertEquals((await listed(created.session_id)).workdir, workdir);
});

row("product", SECTION, "workdir: absolute directory path", async () => {
  const file = join(shared.workdir(), "file");
  Deno.writeTextFileSync(file, "");
  for (const workdir of ["project", "./", "", file, join(file, "absent")]) {
    const { status } = await shared.http("POST", "/v1/sessions", { body: { workdir } });
    assertEquals(status, 400, workdir);
  }
});

row("product", SECTION, "workdir: required by the create request", async () => {
  assertEquals((await shared.http("POST", "/v1/sessions", { body: {} })).status, 400);
  const workdir = 7;
  assertEquals((await shared.http("POST", "/v1/sessions", { body: { workdir } })).status, 400);
});

row("product", SECTION, "model: create request, string, model identifier", async () => {
  const workdir = shared.workdir();
  const { session_id } = await createSession(shared.daemon, {
    workdir,
    model: "builtin/toolbelt",
  });
  assertEquals(
    (await shared.http("GET", `/v1/sessions/${session_id}`)).json.model,
    "builtin/toolbelt",
  );
  const refused = await shared.http("POST", "/v1/sessions", { body: { workdir, model: 7 } });
  assertEquals(refused.status, 400);
});

row("product", SECTION, "session_id: create response, of shape sess_<id>", async () => {
  const created = await createSession(shared.daemon, { workdir: shared.workdir() });
  assertMatch(created.session_id, /^sess_[0-9A-Za-z]+$/);
});

row("product", SECTION, "started_at: create response, timestamp", async () => {
  const before = Date.now();
  const { started_at } = await createSession(shared.daemon, { workdir: shared.workdir() });
  assert(isTimestamp(started_at), started_at);
  assert(Date.parse(started_at) >= before - 1000 && Date.parse(started_at) <= Date.now() + 1000);
});

row("product", SECTION, "id: list item, of shape sess_<id>", async () => {
  const id = await shared.session();
  assertEquals((await listed(id)).id, id);
  assertMatch(id, /^sess_/);
});

row("product", SECTION, "state: list item; the value running is shown", async () => {
  assertEquals((await listed(await shared.session())).state, "running");
});

row("product", SECTION, "a root directory fixed at creation: all work runs in it", async () => {
  await using client = await shared.socket();
  const workdir = shared.workdir();
  const id = await client.session({ workdir, approval: "auto" });
  const end = await client.turn(id, "run pwd; mkdir below; cd below; pwd\nrun pwd > where\nls");
  assertEquals(end.data.stop_reason, "ok");
  assertEquals(Deno.readTextFileSync(join(workdir, "where")), `${workdir}\n`);
  await client.turn(id, "write made.txt\n```\nhere\n```");
  assertEquals(Deno.readTextFileSync(join(workdir, "made.txt")), "here\n");
});

row("product", SECTION, "the process-wide working directory is never changed", async () => {
  const cwd = () => Deno.readLinkSync(`/proc/${shared.daemon.pid}/cwd`);
  const before = cwd();
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir(), approval: "auto" });
  const turn = client.turn(id, "run cd /tmp; sleep 0.2\nls\nrun pwd");
  await client.event((it) => it.type === "session.tool_started");
  assertEquals(cwd(), before);
  await turn;
  assertEquals(cwd(), before);
}, { ignore: Deno.build.os !== "linux" });

row("product", SECTION, "a lint fails calls that use the process working directory", async () => {
  const calls = [
    "Deno.cwd();",
    'Deno.chdir("/tmp");',
    'import process from "node:process";\nprocess.cwd();',
    'import process from "node:process";\nprocess.chdir("/tmp");',
    'import { resolve } from "@std/path";\nresolve("");',
    'import * as path from "@std/path";\npath.resolve("");',
  ];
  for (const call of calls) {
    const { code, output } = await lint(`${call}\n`);
    assertEquals(code, 1, call);
    assertStringIncludes(output, "no-process-cwd");
  }
});

row(
  "product",
  SECTION,
  "the lint lets a call through that is annotated with a reason",
  async () => {
    assertEquals((await lint("// cwd-ok: the shell's directory is meant\nDeno.cwd();\n")).code, 0);
    assertEquals((await lint("// cwd-ok:\nDeno.cwd();\n")).code, 1);
  },
);

row("product", STATE, "pause and kill operations exist", async () => {
  const id = await shared.session();
  const paused = await shared.http("POST", `/v1/sessions/${id}/pause`);
  assert(paused.status >= 200 && paused.status < 300);
  assert((await listed(id)).state !== "running");
  const killed = await shared.http("DELETE", `/v1/sessions/${id}`);
  assert(killed.status >= 200 && killed.status < 300);
  assertEquals(await listed(id), undefined);
});

/** Lints a text by the project's configuration. */
async function lint(text: string): Promise<{ code: number; output: string }> {
  const path = join(shared.workdir(), "linted.ts");
  Deno.writeTextFileSync(path, text);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["lint", "--config", CONFIG, path],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}
