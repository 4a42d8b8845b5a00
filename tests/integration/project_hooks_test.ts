/** Hooks of a project, the trust that they need, and hooks that are written for Claude Code. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { McpClient } from "../support/mcp.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const ignore_sandboxed = ignore || !has_bubblewrap;

function test(
  name: string,
  steps: readonly (Answer | Scripted)[],
  run: (it: Scenario) => Promise<void>,
  options?: ScenarioOptions & { ignore?: boolean },
): void {
  Deno.test({
    name,
    ignore: options?.ignore ?? ignore_sandboxed,
    async fn() {
      await using it = await Scenario.begin(steps, options);
      await run(it);
    },
  });
}

const run = (command: string) => ({ name: "run_command", args: { command } });
const write = (path: string, content = "x\n") => ({
  name: "write_file",
  args: { path, content },
});
const outputs = (it: Scenario) =>
  it.client.of("session.tool_completed").map(({ data }) => data.output as string);
const ran = (it: Scenario) => it.client.of("hook.ran").map(({ data }) => data);
const asked = (it: Scenario) => it.client.of("approval.requested").map(({ data }) => data);

/** Puts a file into the session's directory. */
function put(it: Scenario, path: string, content: string): void {
  const file = join(it.workdir, path);
  Deno.mkdirSync(dirname(file), { recursive: true });
  Deno.writeTextFileSync(file, content, { mode: 0o755 });
}

/** A hook of svc.hooks.toml that runs a line of shell. */
function own(line: string, { on = "tool.before", more = "" } = {}): string {
  const command = JSON.stringify(["/bin/sh", "-c", line]);
  return `[[hooks]]\non = "${on}"\ncommand = ${command}\n${more}\n`;
}

/** Settings of Claude Code with one hook. */
function settings(event: string, command: string, matcher?: string): string {
  const group = {
    ...(matcher !== undefined && { matcher }),
    hooks: [{ type: "command", command }],
  };
  return JSON.stringify({ permissions: { allow: ["Bash"] }, hooks: { [event]: [group] } });
}

/** Stops the daemon, which leaves its turn to the next one. */
async function resume(it: Scenario): Promise<void> {
  await it.client[Symbol.asyncDispose]();
  await it.daemon.stop();
  it.daemon = await it.place.serve();
  it.client = await it.daemon.rpc();
  await it.call("session.subscribe", { since_seq: 0 });
}

const says = (answer: Record<string, unknown>) =>
  `cat > /dev/null; printf '%s' '${JSON.stringify(answer).replaceAll("'", "'\\''")}'`;

const patchOf = (path: string) => `*** Begin Patch\n*** Add File: ${path}\n+one\n*** End Patch`;

const trust = (it: Scenario) => it.call("permissions.trust");

const NO_FRIDAY = own(says({ decision: "deny", reason: "not on a Friday" }), {
  more: 'match = "run_command: git push *"',
});

test("a project's hooks wait for the person's trust, which is asked once and ends with a change", [
  { calls: [run("git push origin main")] },
  { text: "Pushed." },
  { calls: [run("git push origin main")] },
  { text: "Told." },
  { calls: [run("git push origin main")] },
  { text: "Told again." },
  { calls: [run("git push origin main")] },
  { text: "Pushed." },
], async (it) => {
  put(it, "svc.hooks.toml", NO_FRIDAY);
  await it.send("one");
  const { data: question } = await it.event("approval.requested");
  assertEquals(question.tool, "trust_directory");
  assertEquals(
    question.reason,
    `trust ${it.workdir}: its hooks run in the sandbox without asking you, until the files change`,
  );
  const [line] = (question.args as { hooks: string[] }).hooks;
  assertMatch(line, /^tool\.before \(run_command: git push \*\): \/bin\/sh -c '.*' \(30 s\)$/);
  // A model behind a client does not decide about what limits it.
  await using mcp = await McpClient.http(it.daemon, "?caps=all");
  const approval = { session_id: it.session_id, approval_id: question.approval_id };
  const refused = await mcp.call("svc.session.approve", { ...approval, decision: "allow" });
  assertStringIncludes(JSON.stringify(refused.content), "only a person trusts a directory");
  await it.call("session.approve", { approval_id: question.approval_id, decision: "deny" });
  const next = await it.event("approval.requested", ({ data }) => data.tool === "run_command");
  await it.call("session.approve", { approval_id: next.data.approval_id, decision: "deny" });
  await it.event("turn.completed");
  assertEquals(ran(it), []);

  // It is not asked again, also not in another session or after a restart.
  await it.restart();
  const other = await it.client.session({
    workdir: it.workdir,
    model: it.model,
    approval: "ask",
  });
  await it.client.rpc.call("session.send", { session_id: other, text: "two" });
  const mine = await it.event(
    "approval.requested",
    ({ session_id, data }) => session_id === other && data.tool !== "",
  );
  assertEquals(mine.data.tool, "run_command");
  await it.client.rpc.call("session.approve", {
    session_id: other,
    approval_id: mine.data.approval_id,
    decision: "deny",
  });
  await it.event("turn.completed", ({ session_id }) => session_id === other);

  const trusted = await it.place.svc(["permissions", "trust"], { cwd: it.workdir });
  assertStringIncludes(trusted.stdout, "its hooks run:");
  const questions = asked(it).length;
  await it.turn("three");
  assertEquals(asked(it).length, questions);
  assertStringIncludes(
    outputs(it).at(-1)!,
    "the hook /bin/sh -c ",
  );
  assertStringIncludes(outputs(it).at(-1)!, "of svc.hooks.toml does not allow it: not on a Friday");
  const [{ file, decision }] = ran(it);
  assertEquals([file, decision], ["svc.hooks.toml", "deny"]);

  put(it, "svc.hooks.toml", `# Changed.\n${NO_FRIDAY}`);
  const { seq: begun } = await it.send("four");
  const again = await it.event(
    "approval.requested",
    ({ seq, data, session_id }) =>
      session_id === it.session_id && data.tool === "trust_directory" && seq > begun,
  );
  await resume(it);
  // The question is still there, and its answer holds.
  await it.call("session.approve", { approval_id: again.data.approval_id, decision: "allow" });
  await it.event("turn.completed", ({ seq }) => seq > again.seq);
  assertStringIncludes(outputs(it).at(-1)!, "not on a Friday");
  const listed = await it.place.svc(["permissions", "list", "--directory", it.workdir]);
  assertMatch(listed.stdout, /^hook tool\.before/m);
}, { start: { approval: "ask" } });

test("the hooks of .claude/settings.json run in the sandbox, as Claude Code runs them", [
  { calls: [run("cat .env"), run("echo fine")] },
  { text: "Told." },
], async (it) => {
  put(
    it,
    ".claude/settings.json",
    settings("PreToolUse", '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh', "Bash|Read"),
  );
  put(
    it,
    ".claude/hooks/guard.sh",
    "#!/usr/bin/env bash\ninput=$(cat)\n" +
      'echo "$input" >> inputs\n{ env; touch ~/escaped; touch /etc/escaped; } > env 2>&1\n' +
      '[[ $input == *.env* ]] || exit 0\necho "secrets stay secret" >&2\nexit 2\n',
  );
  await trust(it);
  await it.turn("go");
  assertEquals(
    outputs(it)[0],
    'refused: the hook "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh of .claude/settings.json ' +
      "does not allow it: secrets stay secret; do not try to do it in another way",
  );
  assertEquals(outputs(it)[1], "fine");
  const [first] = Deno.readTextFileSync(join(it.workdir, "inputs")).split("\n");
  const input = JSON.parse(first);
  assertEquals(input.hook_event_name, "PreToolUse");
  assertEquals([input.tool_name, input.tool_input], ["Bash", { command: "cat .env" }]);
  assertEquals([input.cwd, input.session_id], [it.workdir, it.session_id]);
  assertEquals(input.permission_mode, "bypassPermissions");
  const env = Deno.readTextFileSync(join(it.workdir, "env"));
  assertStringIncludes(env, `CLAUDE_PROJECT_DIR=${it.workdir}`);
  assert(!env.includes("MODEL_KEY") && !env.includes(it.daemon.token), env);
  assertMatch(env, /\/etc\/escaped.*Read-only/);
});

test("a guard for edits sees each file of a patch, and each edit of a file", [
  {
    calls: [{
      name: "apply_patch",
      args: {
        patch: "*** Begin Patch\n*** Add File: fine.txt\n+one\n*** Add File: keys/a.pem\n+two\n" +
          "*** End Patch",
      },
    }],
  },
  { calls: [write("keys/b.pem"), write("other.txt")] },
  { text: "Told." },
], async (it) => {
  const script = `import json, sys
call = json.load(sys.stdin)
path = call["tool_input"]["file_path"]
print(call["tool_name"], path, file=open("seen", "a"))
if path.endswith(".pem"):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse",
      "permissionDecision": "deny", "permissionDecisionReason": "no keys"}}))
`;
  put(it, ".claude/settings.json", settings("PreToolUse", "python3 guard.py", "Edit|Write"));
  put(it, "guard.py", script);
  await trust(it);
  await it.turn("go");
  const [patch, key, other] = outputs(it);
  for (const text of [patch, key]) assertStringIncludes(text, "does not allow it: no keys");
  assertMatch(other, /other\.txt/);
  assertEquals(Deno.readTextFileSync(join(it.workdir, "seen")).split("\n"), [
    `Write ${it.workdir}/fine.txt`,
    `Write ${it.workdir}/keys/a.pem`,
    `Write ${it.workdir}/keys/b.pem`,
    `Write ${it.workdir}/other.txt`,
    "",
  ]);
});

test("a hook changes a call; rules and questions are about what it made of it", [
  { calls: [run("npm install left-pad"), run("echo secret"), run("echo bad")] },
  { text: "Done." },
  { calls: [run("npm install left-pad")] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  const { data } = await it.event("approval.requested");
  assertEquals(data.reason, "run pnpm install left-pad");
  await resume(it);
  const [pending] = (await it.call("session.get")).pending_approvals;
  assertEquals(pending.args.command, "pnpm install left-pad");
  await it.call("session.approve", { approval_id: pending.approval_id, decision: "deny" });
  await it.event("turn.completed");
  const [denied, ruled, invalid] = outputs(it);
  assertStringIncludes(denied, "the person did not allow this call");
  assertStringIncludes(
    denied,
    'changed the arguments of this call: {"command":"pnpm install left-pad"}',
  );
  assertMatch(ruled, /^denied by the person's rule run_command: cat \*/);
  assertMatch(invalid, /^refused: a hook changed the call, and then: invalid arguments:/);
  const changed = ran(it).map(({ args }) => args);
  assertEquals(changed.at(-1), { command: 7 });
}, {
  ignore,
  start: { approval: "ask" },
  toml: `[permissions]\ndeny = ["run_command: cat *"]\n${
    own(
      `case "$(cat)" in *npm*) echo '{"args":{"command":"pnpm install left-pad"}}';;` +
        ` *secret*) echo '{"args":{"command":"cat secret"}}';;` +
        ` *) echo '{"args":{"command":7}}';; esac`,
    )
  }`,
});

test("Claude Code's other events and answers, and several hooks that change one call", [
  { calls: [write("a.txt", "one\n"), run("false")] },
  { text: "Done." },
], async (it) => {
  const group = (command: string, matcher?: string) => ({
    matcher,
    hooks: [{ type: "command", command }],
  });
  const changes = (updatedInput: Record<string, unknown>) =>
    group(
      says({ hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput } }),
      "Write",
    );
  put(
    it,
    ".claude/settings.local.json",
    JSON.stringify({
      hooks: {
        PreToolUse: [changes({ content: "two\n" }), changes({ file_path: "b.txt" })],
        PostToolUse: [
          group(says({ decision: "block", reason: "format it" }), "Write"),
          group("echo this is for a log", ".*"),
          group("echo 'not for calls that failed' >&2; exit 2", "Bash"),
        ],
        PostToolUseFailure: [group("echo 'it failed' >&2; exit 2", "Bash")],
        UserPromptSubmit: [group('grep -o "the [a-z]* branch"')],
        PreCompact: [group("touch never")],
        Stop: [{ hooks: [{ type: "prompt", prompt: "?" }] }],
      },
    }),
  );
  await trust(it);
  await it.turn("look at the frozen branch");
  assertEquals(Deno.readTextFileSync(join(it.workdir, "b.txt")), "two\n");
  const [written, failed] = outputs(it);
  assertStringIncludes(written, "[from a hook of the project]\nformat it");
  assert(!written.includes("for a log"), written);
  assertStringIncludes(failed, "[from a hook of the project]\nit failed");
  assert(!failed.includes("not for calls"), failed);
  assertStringIncludes(
    JSON.stringify(it.server.requests[0].body),
    "the frozen branch\\n</context>",
  );
  assert(![...Deno.readDirSync(it.workdir)].some(({ name }) => name === "never"));
});

test("a hook that fails, hangs or floods refuses the call; trust that is taken back ends it", [
  { calls: [run("echo one"), run("echo two"), run("echo three")] },
  { text: "Told." },
  { calls: [run("echo four")] },
  { text: "Done." },
], async (it) => {
  put(
    it,
    "svc.hooks.toml",
    own(
      "case $(cat) in *one*) echo broken >&2; exit 3;; *two*) sleep 60;; *) yes;; esac",
      { more: "timeout_s = 0.5" },
    ),
  );
  await trust(it);
  await it.turn("go");
  assertMatch(outputs(it)[0], /^refused: the hook .* of svc\.hooks\.toml failed: it exited with 3/);
  assertMatch(outputs(it)[1], /failed: it did not end within 0\.5 s/);
  assertMatch(outputs(it)[2], /failed: it (wrote more than 65536 bytes|did not end)/);
  await it.call("permissions.untrust");
  await it.turn("again");
  assertEquals(outputs(it).at(-1), "four");
});

test("the person's hooks see what a project's hooks have made of a call", [
  { calls: [run("echo fine")] },
  { text: "Told." },
], async (it) => {
  put(it, "svc.hooks.toml", own(says({ args: { command: "git push origin main" } })));
  await trust(it);
  await it.turn("go");
  assertMatch(outputs(it)[0], /^refused: the hook \/bin\/sh of daemon\.toml does not allow it/);
}, { toml: NO_FRIDAY });

test("the person's hooks judge the files of a patch that a project's hook has changed", [
  { calls: [{ name: "apply_patch", args: { patch: patchOf("fine.txt") } }] },
  { text: "Told." },
  { calls: [{ name: "apply_patch", args: { patch: patchOf("fine.txt") } }] },
  { text: "Told." },
], async (it) => {
  put(it, "svc.hooks.toml", own(says({ args: { patch: patchOf("keys/a.pem") } })));
  await trust(it);
  await it.turn("go");
  assertMatch(outputs(it)[0], /^refused: the hook \/bin\/sh of daemon\.toml does not allow it/);
  // What does not fit the tool reaches no other hook.
  put(it, "svc.hooks.toml", own(says({ args: { patch: 7 } })));
  await trust(it);
  await it.turn("again");
  assertMatch(outputs(it)[1], /^refused: a hook changed the call, and then: invalid arguments:/);
  assert(![...Deno.readDirSync(it.workdir)].some(({ name }) => name === "keys"));
}, {
  toml: own(says({ decision: "deny", reason: "no keys" }), {
    more: 'match = "apply_patch: keys/**"',
  }),
});

test("a question about trust that ends with its turn is asked again by the next one", [
  { text: "Done." },
], async (it) => {
  put(it, "svc.hooks.toml", own("true"));
  await it.send("one");
  const { seq } = await it.event("approval.requested");
  await it.call("session.cancel");
  await it.event("turn.completed");
  await it.send("two");
  const { data } = await it.event("approval.requested", (event) => event.seq > seq);
  assertEquals(data.tool, "trust_directory");
  await it.call("session.approve", { approval_id: data.approval_id, decision: "deny" });
  await it.event("turn.completed", (event) => event.seq > seq && event.data.message === "Done.");
}, { start: { approval: "ask" } });

test("work for others and sessions that only read run no hooks of a project", [
  { calls: [run("echo one")] },
  { text: "Told." },
  { calls: [{ name: "read_file", args: { path: "svc.hooks.toml" } }] },
  { text: "Told." },
], async (it) => {
  put(it, "svc.hooks.toml", own("touch ran"));
  await trust(it);
  for (const start of [{ trust: "untrusted", approval: "auto" }, { approval: "read_only" }]) {
    const id = await it.client.session({ workdir: it.workdir, model: it.model, ...start });
    await it.client.turn(id, "go");
  }
  assert(![...Deno.readDirSync(it.workdir)].some(({ name }) => name === "ran"));
});

test("svc chat -p goes on without the hooks that nobody can trust, and the next session asks", [
  { text: "Done." },
  { text: "Done." },
], async (it) => {
  put(it, "svc.hooks.toml", own("touch ran"));
  const done = await it.place.svc(["chat", "--model", it.model, "--approve", "ask", "-p", "go"], {
    cwd: it.workdir,
  });
  assertEquals([done.code, done.stdout.trim()], [0, "Done."]);
  assertStringIncludes(done.stderr, "the rules and hooks of this directory are left out");
  await it.call("session.configure", { approval: "ask" });
  await it.send("go");
  const { data } = await it.event("approval.requested");
  assertEquals(data.tool, "trust_directory");
  await it.call("session.approve", { approval_id: data.approval_id, decision: "allow" });
  await it.event("turn.completed");
});

test("a file of hooks that cannot be used is told, and runs nothing", [
  { calls: [run("echo one")] },
  { text: "Done." },
], async (it) => {
  for (
    const [text, problem] of [
      ["[[hooks]]\non = 1\n", "svc.hooks.toml cannot be used"],
      [`${own("true", { more: "may_allow = true" })}`, "a project's hook cannot allow anything"],
      ["allow = []\n", "allow: is not a key; expected [[hooks]]"],
    ]
  ) {
    put(it, "svc.hooks.toml", text);
    const listed = await it.call("permissions.list");
    assertStringIncludes(listed.problem, problem);
    const refused = await it.place.svc(["permissions", "trust"], { cwd: it.workdir });
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, problem);
  }
  await it.turn("go");
  assertEquals(outputs(it), ["one"]);
}, { ignore });
