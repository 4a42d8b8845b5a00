/** Permission rules in a running daemon. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";
import { McpClient } from "../support/mcp.ts";
import { Site } from "../support/site.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

const RULES = `[permissions]
allow = ["run_command: echo *", "run_command: npm test*", "write_file: src/**", "fetch_url: example.com"]
ask = ["run_command: echo careful*", "read_file: *.key"]
deny = ["run_command: git push*", "write_file: src/secret/**"]
`;

function test(name: string, fn: (place: Place) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using place = new Place();
      await fn(place);
    },
  });
}

/**
 * Sends an instruction and answers what is asked.
 *
 * @returns what was asked, and what the last call gave
 */
async function ask(
  client: TestClient,
  session_id: string,
  text: string,
  answer: Record<string, unknown> = { decision: "deny" },
) {
  const mine = (type: string) => client.of(type).filter((it) => it.session_id === session_id);
  const { seq } = await client.rpc.call("session.send", { session_id, text });
  const later = (type: string) => mine(type).filter((it) => it.seq > seq);
  const ended = () => later("turn.completed").length > 0;
  const questions = () => later("approval.requested").map(({ data }) => data);
  const asked: ReturnType<typeof questions> = [];
  while (!ended()) {
    await client.wait(() => ended() || questions().length > asked.length, "a question");
    for (const question of questions().slice(asked.length)) {
      asked.push(question);
      const { approval_id } = question;
      await client.rpc.call("session.approve", { session_id, approval_id, ...answer });
    }
  }
  const { data: { ok, output } } = mine("session.tool_completed").at(-1)!;
  return { asked, ok, output };
}

const toolbelt = (workdir: string, more: Record<string, unknown> = {}) => ({
  workdir,
  model: "builtin/toolbelt",
  ...more,
});

const refused = async (call: Promise<unknown>) => await assertRejects(() => call) as SvcError;

test("rules of daemon.toml decide before the approval mode", async (place) => {
  place.configure(RULES);
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const workdir = place.mkdir("project");
  const id = await client.session(toolbelt(workdir));
  const asked = async (text: string) => (await ask(client, id, text)).asked.length;
  assertEquals(await asked("run npm test"), 0);
  assertEquals((await ask(client, id, "run echo one && echo two")).output, "one\ntwo");
  assertEquals(await asked("run echo one && touch x"), 1);
  assertEquals(await asked("run echo one > x"), 1);
  assertEquals(await asked("write src/a.ts\n```\nx\n```"), 0);
  assertEquals(await asked("write other.ts\n```\nx\n```"), 1);
  assertEquals(await asked("write src/../other.ts\n```\nx\n```"), 1);
  // Reads run without a question, unless a rule asks.
  Deno.writeTextFileSync(join(workdir, "my.key"), "x");
  assertEquals([await asked("read my.key"), await asked("read src/a.ts")], [1, 0]);
  // A link does not lead around a rule.
  Deno.mkdirSync(join(workdir, "lib"));
  Deno.symlinkSync("../lib", join(workdir, "src", "link"));
  assertEquals(await asked("write src/link/a.ts\n```\nx\n```"), 1);
  Deno.symlinkSync("../not-yet.ts", join(workdir, "src", "leads-out.ts"));
  assertEquals(await asked("write src/leads-out.ts\n```\nx\n```"), 1);

  const pushed = await ask(client, id, "run echo hi; git push origin");
  assertEquals([pushed.asked.length, pushed.ok], [0, false]);
  assertStringIncludes(pushed.output, "run_command: git push* of daemon.toml");
  const secret = await ask(client, id, "write src/secret/a\n```\nx\n```");
  assertStringIncludes(secret.output, "write_file: src/secret/**");

  // A rule that asks comes before one that allows, and says so.
  const careful = await ask(client, id, "run echo careful", { decision: "allow_always" });
  assertStringIncludes(careful.asked[0].reason, "run_command: echo careful* of daemon.toml");
  assertEquals([careful.asked[0].choices, careful.output], [undefined, "careful"]);
  assertEquals(await asked("run echo careful"), 1);
  // What runs later, outside of every sandbox, is asked about whatever a rule allows.
  assertEquals(await asked("write src/.envrc\n```\nx\n```"), 1);
});

test("rules hold in every mode: none lets a read_only session write", async (place) => {
  place.configure(RULES);
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const workdir = place.mkdir("project");
  const start = (more: Record<string, unknown>) => client.session(toolbelt(workdir, more));
  const careful = await start({ approval: "read_only" });
  for (const text of ["run echo hi", "write src/a\n```\nx\n```"]) {
    const { asked, output } = await ask(client, careful, text);
    assertEquals(asked.length, 0);
    assertStringIncludes(output, "read_only");
  }
  const auto = await start({ approval: "auto" });
  const asked = async (id: string, text: string) => (await ask(client, id, text)).asked.length;
  assertEquals(await asked(auto, "run touch x"), 0);
  assertEquals(await asked(auto, "run echo careful"), 1);
  assertStringIncludes((await ask(client, auto, "run env git push")).output, "denied");
  // Nobody can tell whether that pushes.
  assertEquals(await asked(auto, "run eval $X"), 1);

  const hired = await start({ trust: "untrusted", approval: "ask" });
  assertEquals(await asked(hired, "run echo hi"), 1);
  const echo = { command: "echo hi", session_id: hired };
  assertEquals((await client.rpc.call("permissions.test", echo)).decision, "ask");
  const { rules } = await client.rpc.call("permissions.list", { session_id: hired });
  assertEquals(rules.some((it: { action: string }) => it.action === "allow"), false);
  const both = await start({ trust: "untrusted", approval: "auto" });
  assertEquals((await ask(client, both, "run echo hi")).output, "hi");
  for (const text of ["run git push", "run echo careful"]) {
    const { asked, ok } = await ask(client, both, text);
    assertEquals([asked.length, ok], [0, false], text);
  }
});

test("rules change without a restart, and a wrong one is named", async (place) => {
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const id = await client.session(toolbelt(place.mkdir("project")));
  assertEquals((await ask(client, id, "run echo hi")).asked.length, 1);
  place.configure(RULES);
  await client.rpc.call("daemon.reload_config");
  assertEquals((await ask(client, id, "run echo hi")).asked.length, 0);
  place.configure('[permissions]\nallow = ["run_command: npm test && ls"]\n');
  const { code, message } = await refused(client.rpc.call("daemon.reload_config"));
  assertEquals(code, "validation");
  assertMatch(message, /daemon\.toml:2: permissions\.allow\.0: .*one rule for each/);
  assertEquals((await ask(client, id, "run echo hi")).asked.length, 0);
});

test("always keeps a rule for a session, a directory or everywhere", async (place) => {
  const workdir = place.mkdir("project");
  const other = place.mkdir("other");
  const always = (rule: string, scope: string) => ({
    decision: "allow_always",
    always: { rule, scope },
  });
  {
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const id = await client.session(toolbelt(workdir));
    const { asked: [{ choices }] } = await ask(client, id, "run npm test");
    assertEquals(choices, ["run_command = npm test", "run_command: npm test *", "run_command"]);
    // Only what was offered is kept.
    for (
      const answer of [
        always("run_command: npm *", "session"),
        { ...always("run_command = npm test", "session"), decision: "allow" },
        always("run_command = npm test", "world"),
      ]
    ) {
      const turn = client.turn(id, "run npm test");
      const { approval_id } = (await client.wait(({ type, data }) =>
        type === "approval.requested" &&
        !client.of("approval.resolved").some((it) =>
          it.data.approval_id === data.approval_id
        )
      )).data;
      const decide = (answer: Record<string, unknown>) =>
        client.rpc.call("session.approve", { session_id: id, approval_id, ...answer });
      assertEquals((await refused(decide(answer))).code, "validation");
      await decide({ decision: "deny" });
      await turn;
    }
    assertEquals((await client.rpc.call("permissions.list")).rules, []);

    await ask(client, id, "run npm test", always("run_command: npm test *", "directory"));
    const { data: resolved } = client.of("approval.resolved").at(-1)!;
    assertEquals(resolved.always, { rule: "run_command: npm test *", scope: "directory" });
    await ask(client, id, "run touch a > b", always("run_command = touch a > b", "session"));
    const next = await client.session(toolbelt(workdir));
    const asked = async (id: string, text: string) => (await ask(client, id, text)).asked.length;
    assertEquals(await asked(next, "run npm test -- x"), 0);
    assertEquals(await asked(next, "run npm test > x"), 1);
    assertEquals([await asked(id, "run touch a > b"), await asked(next, "run touch a > b")], [
      0,
      1,
    ]);
    assertEquals(await asked(await client.session(toolbelt(other)), "run npm test"), 1);
    // Today's always still means what it meant: this line, in this session.
    await ask(client, next, "run npm ci", { decision: "allow_always" });
    assertEquals([await asked(next, "run npm ci"), await asked(id, "run npm ci")], [0, 1]);
    await client.rpc.call("session.kill", { session_id: id });
    await daemon.stop();
  }
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const id = await client.session(toolbelt(workdir));
  const asked = async (text: string) => (await ask(client, id, text)).asked.length;
  assertEquals([await asked("run npm test"), await asked("run npm install")], [0, 1]);
  const { rules } = await client.rpc.call("permissions.list");
  // What held for a session has gone with it.
  assertEquals(rules.map((it: { rule: string }) => it.rule), ["run_command: npm test *"]);
  const [{ rule_id, directory, action, made_by }] = rules;
  assertEquals([directory, action, made_by], [workdir, "allow", "socket"]);
  await client.rpc.call("permissions.remove", { rule_id });
  assertEquals(await asked("run npm test"), 1);
  assertEquals(
    (await refused(client.rpc.call("permissions.remove", { rule_id }))).code,
    "not_found",
  );

  const everywhere = always("write_file", "everywhere");
  await ask(client, id, "write a\n```\nx\n```", everywhere);
  const elsewhere = await client.session(toolbelt(other));
  assertEquals((await ask(client, elsewhere, "write b\n```\nx\n```")).asked.length, 0);
  assertEquals((await ask(client, elsewhere, "write .envrc\n```\nx\n```")).asked.length, 1);
});

test("a project's file only makes it stricter", async (place) => {
  place.configure(RULES);
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const workdir = place.mkdir("project");
  const file = join(workdir, "svc.permissions.toml");
  const id = await client.session(toolbelt(workdir));
  const asked = async (text: string) => (await ask(client, id, text)).asked.length;
  const write = (text: string) => Deno.writeTextFileSync(file, text);
  write('deny = ["run_command: echo never*"]\nask = ["write_file: src/gen/**"]\n');
  assertEquals((await ask(client, id, "run echo never")).ok, false);
  assertEquals([await asked("run echo hi"), await asked("write src/gen/a\n```\nx\n```")], [0, 1]);
  // The rule holds for the tools that change a file in another way.
  Deno.mkdirSync(join(workdir, "src", "gen"), { recursive: true });
  Deno.writeTextFileSync(join(workdir, "src", "gen", "a"), "x\n");
  const auto = await client.session(toolbelt(workdir, { approval: "auto" }));
  const edit = "edit src/gen/a\n```\nx\n```\n```\ny\n```";
  assertEquals((await ask(client, auto, edit)).asked.length, 1);
  // The person is asked before the model takes a rule away, in every mode and by every way.
  Deno.symlinkSync("svc.permissions.toml", join(workdir, "link"));
  for (const session of [id, auto]) {
    for (const path of ["svc.permissions.toml", "src/../svc.permissions.toml", "./link"]) {
      const { asked, ok } = await ask(client, session, `write ${path}\n\`\`\`\n\n\`\`\``);
      // Through a link it cannot be written at all, so nobody is asked.
      assertEquals([asked.length, ok], [path === "./link" ? 0 : 1, false], path);
    }
  }
  for (
    const text of ['allow = ["run_command"', "deny = [", "deny = 1", 'deny = ["x y"]']
  ) {
    write(text);
    const { asked: [question] } = await ask(client, auto, "run touch x");
    assertStringIncludes(question.reason, "svc.permissions.toml of the project cannot be used");
    const listed = await client.rpc.call("permissions.list", { session_id: id });
    assert(listed.problem.length > 0);
    assertEquals(await asked("list ."), 0);
  }
  Deno.removeSync(file);
  Deno.symlinkSync("/etc/passwd", file);
  assertEquals((await ask(client, auto, "run touch x")).asked.length, 1);
  Deno.removeSync(file);
  assertEquals((await ask(client, auto, "run touch x")).asked.length, 0);
});

test("a project's file allows once a person trusts the directory, until it changes", async (place) => {
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const workdir = place.mkdir("project");
  const write = (rules: string) =>
    Deno.writeTextFileSync(join(workdir, "svc.permissions.toml"), rules);
  write('allow = ["run_command: echo *"]\ndeny = ["run_command: echo never*"]\n');
  const id = await client.session(toolbelt(workdir));
  const asked = async (text = "run echo hi") => (await ask(client, id, text)).asked.length;
  const { asked: [question, call] } = await ask(client, id, "run echo hi");
  assertEquals([question.tool, call.tool], ["trust_directory", "run_command"]);
  assertStringIncludes(String(question.reason), "its rules allow calls without asking you");
  assertEquals(question.args, { allows: ["run_command: echo *"] });
  // "No" is remembered for this content.
  assertEquals(await asked(), 1);
  const listed = () => client.rpc.call("permissions.list", { session_id: id });
  assertEquals((await listed()).untrusted, ["run_command: echo *"]);

  await using mcp = await McpClient.http(daemon, "?caps=all");
  const refused = await mcp.call("svc.permissions.trust", { session_id: id });
  assertEquals(refused.isError, true);
  assertStringIncludes(JSON.stringify(refused.content), "only a person");

  const trusted = await client.rpc.call("permissions.trust", { session_id: id });
  assertEquals(trusted, { directory: workdir, allows: ["run_command: echo *"], hooks: [] });
  assertEquals([await asked(), await asked("run touch x")], [0, 1]);
  assertEquals((await ask(client, id, "run echo never")).ok, false);
  // In this directory alone, and for no work for others.
  const copy = place.mkdir("copy");
  Deno.copyFileSync(join(workdir, "svc.permissions.toml"), join(copy, "svc.permissions.toml"));
  const other = await client.session(toolbelt(copy));
  assertEquals((await ask(client, other, "run echo hi")).asked.length, 2);
  // Where nobody is asked, a note tells.
  const third = place.mkdir("third");
  Deno.copyFileSync(join(workdir, "svc.permissions.toml"), join(third, "svc.permissions.toml"));
  const unattended = await client.session(toolbelt(third, { approval: "auto" }));
  assertEquals((await ask(client, unattended, "run echo hi")).asked.length, 0);
  const [note] = client.of("lane.note").map(({ data }) => String(data.text));
  assertStringIncludes(note, "would allow run_command: echo *; /trust lets them");

  await daemon.stop();
  const again = await place.serve();
  await using after = await again.rpc();
  await after.rpc.call("session.subscribe", { session_id: id });
  assertEquals((await ask(after, id, "run echo hi")).asked.length, 0);
  write('allow = ["run_command: echo *", "run_command: touch *"]\n');
  assertEquals((await ask(after, id, "run echo hi")).asked.length, 2);
  const svc = (...args: string[]) => place.svc(["permissions", ...args], { cwd: workdir });
  assertMatch(
    (await svc("list", "--directory", ".")).stdout,
    /needs trust: allow run_command: touch/,
  );
  assertStringIncludes((await svc("trust")).stdout, "run_command: touch *");
  assertStringIncludes((await svc("list")).stdout, `trusted: ${workdir}`);
  assertEquals((await ask(after, id, "run touch x")).asked.length, 0);
  assertEquals((await svc("untrust")).code, 0);
  assertEquals((await ask(after, id, "run touch x")).asked.length, 1);
  assertEquals((await svc("untrust")).code, 1);
  Deno.removeSync(join(workdir, "svc.permissions.toml"));
  assertStringIncludes((await svc("trust")).stderr, "allows nothing");
});

test("a fetch that a rule allows is not redirected to where none does", async (place) => {
  await using site: Site = new Site((url) =>
    url.pathname === "/away"
      ? Response.redirect(`http://localhost:${site.port}/`)
      : new Response("text")
  );
  place.configure(`[permissions]\nallow = ["fetch_url: 127.0.0.1:${site.port}"]\n`);
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const id = await client.session(toolbelt(place.mkdir("project")));
  const fetched = (path: string) => ask(client, id, `fetch ${site.origin}${path}`);
  assertEquals([(await fetched("/")).asked.length, (await fetched("/")).ok], [0, true]);
  const led = await fetched("/away");
  assertEquals([led.asked.length, led.ok], [0, false]);
  assertStringIncludes(led.output, "no rule allows localhost");
});

test("permissions.test and svc permissions say what decides", async (place) => {
  place.configure(RULES);
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const directory = place.mkdir("project");
  const decided = async (params: Record<string, unknown>) => {
    const { decision, decided_by, rule, part } = await client.rpc.call("permissions.test", params);
    return [decision, decided_by, rule?.rule, part];
  };
  assertEquals(await decided({ command: "npm test" }), [
    "allow",
    "rule",
    "run_command: npm test*",
    undefined,
  ]);
  assertEquals(await decided({ command: "npm test && (git push)", directory }), [
    "deny",
    "rule",
    "run_command: git push*",
    "git push",
  ]);
  assertEquals(await decided({ command: "echo a; ls" }), ["ask", "mode", undefined, "ls"]);
  assertEquals(
    (await decided({ tool: "write_file", input: { path: "src/a", content: "" }, directory }))[0],
    "allow",
  );
  assertEquals((await decided({ tool: "read_file", input: { path: "a" } })).slice(0, 2), [
    "allow",
    "mode",
  ]);
  const call = (method: string, params: Record<string, unknown>) => client.rpc.call(method, params);
  for (
    const [method, params, text] of [
      ["permissions.test", { command: "ls", directory: "a/b" }, "is not absolute"],
      ["permissions.test", { command: "ls", directory: "/a\0b" }, "contains a NUL byte"],
      ["permissions.list", { directory: "/does/not/exist" }, "does not exist"],
      ["permissions.test", { tool: "write_file", input: {} }, "input:"],
      ["permissions.add", { action: "allow", rule: "*", scope: "everywhere" }, "cannot use *"],
      ["permissions.add", { action: "deny", rule: "a b", scope: "everywhere" }, "is not a rule"],
      ["permissions.add", { action: "deny", rule: "a", scope: "directory" }, "is missing"],
      [
        "permissions.add",
        { action: "deny", rule: "a", scope: "directory", directory: "x\0" },
        "contains a NUL byte",
      ],
    ] as const
  ) {
    const { code, message } = await refused(call(method, params));
    assertEquals(code, "validation");
    assertStringIncludes(message, text);
  }

  const svc = (...args: string[]) => place.svc(["permissions", ...args], { cwd: directory });
  const shown = await svc("test", "git push origin");
  assertMatch(shown.stdout, /decision +deny\nby +deny run_command: git push\* \(daemon\.toml\)/);
  const json = JSON.parse((await svc("test", "npm test", "--json")).stdout);
  assertEquals([json.decision, json.approval], ["allow", "ask"]);
  const hidden = "run_command = echo \u202e";
  const added = JSON.parse((await svc("deny", hidden, "--json")).stdout);
  assertEquals(added.rule, hidden);
  const listed = (await svc("list", "--directory", ".")).stdout;
  assertStringIncludes(listed, "echo \\u{202e}");
  assert(!listed.includes("\u202e"));
  assertEquals((await svc("remove", added.rule_id)).code, 0);
  assert(!(await svc("list")).stdout.includes(added.rule_id));
  await svc("allow", "run_command: cargo test *");
  const elsewhere = await svc("test", "cargo test -q");
  assertMatch(elsewhere.stdout, /decision +allow\nby +allow run_command: cargo test \*/);
});
