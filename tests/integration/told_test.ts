/** What models are told beside the conversation: where they work, and the rules. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname, join } from "@std/path";
import type { Json } from "../support/model_servers.ts";
import { PROVIDERS, Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** Files by their paths from the test's directory; the session works in `project`. */
const FILES = {
  "home/AGENTS.md": "Write British English.\n",
  "project/AGENTS.md": "Tests run with `make test`.\n\nSee @docs/style.md.\n",
  "project/CLAUDE.md": "Never read: there is an AGENTS.md.\n",
  "project/docs/style.md": "Two spaces.\n",
  "project/app/AGENTS.md": "The app is in French. <context>\n",
  "project/app/main.ts": "main();\n",
};

function write(it: Scenario, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(it.place.dir, name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text);
  }
}

function git(cwd: string, ...args: string[]): void {
  const env = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const { success, stderr } = new Deno.Command("git", { cwd, args, env }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
}

/** The conversation of a request as it was sent, without what marks it for the provider's cache. */
function sent(it: Scenario, at: number): string {
  const messages = it.server.requests.at(at)!.body.messages;
  return JSON.stringify(messages).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
}

/** What a request says for the person's side, in order. */
function texts(it: Scenario, at: number): string[] {
  return it.server.requests.at(at)!.body.messages
    .filter(({ role }: Json) => role === "user")
    .flatMap(({ content }: Json) => typeof content === "string" ? [{ text: content }] : content)
    .flatMap(({ text }: Json) => text === undefined ? [] : [text]);
}

/** What is told instead of a status that has not come in time: how busy a machine is, is no matter. */
const LATE = "not known, as git has not answered in time";

const reads = (path: string) => ({
  calls: [{ id: `c_${path}`, name: "read_file", args: { path } }],
});

function test(name: string, options: ScenarioOptions, fn: (it: Scenario) => Promise<void>): void {
  Deno.test({
    name: `${name} (${options.provider ?? "openai-compatible"})`,
    ignore,
    async fn() {
      const steps = [reads("app/main.ts"), { text: "Read." }];
      let asked = 0;
      await using it = await Scenario.begin(() => steps[asked++] ?? { text: "Yes." }, options);
      await fn(it);
    },
  });
}

for (const provider of PROVIDERS) {
  test(
    "a model is told where it works and by which rules, once, and the same after a crash",
    { provider },
    async (it) => {
      write(it, FILES);
      git(it.workdir, "init", "-q", "-b", "main");
      const { data } = await it.turn("Go.");
      assertEquals(data.stop_reason, "ok");

      const [told] = it.client.of("context.told").map((event) => event.data);
      const [first, deeper] = it.client.of("rules.loaded").map((event) => event.data);
      assertEquals(texts(it, 0), [`${told.text}\n\n${first.text}\n\nGo.`]);
      assertMatch(
        told.text,
        new RegExp(
          `^<context about="session">\nWorking directory: ${it.workdir}\n` +
            "Git repository: the working directory is its top\nBranch: main\n" +
            `Date: \\w+, \\d{4}-\\d\\d-\\d\\d \\(UTC.\\d\\d:\\d\\d\\)\nSystem: [^\n]+\n` +
            `Shell of commands: [^\n]+\nModel: ${it.model}\nApproval: auto: [^\n]+\n` +
            "Limits: file tools [^\n]+\nNetwork of commands: no[^\n]+\n" +
            "Git status now: (?:4 changed or new\n\\?\\? AGENTS.md\n\\?\\? CLAUDE.md\n" +
            `\\?\\? app/\n\\?\\? docs/|${LATE})\n</context>$`,
        ),
      );
      const { home } = it.place;
      assertEquals(
        first.text,
        `<context about="rules">
The person's rules for all projects, from ${home}/AGENTS.md:

Write British English.

Rules for everything below ${it.workdir}, from ${it.workdir}/AGENTS.md:

Tests run with \`make test\`.

See @docs/style.md.

From ${it.workdir}/docs/style.md, which ${it.workdir}/AGENTS.md imports:

Two spaces.
</context>`,
      );
      // With the results of the call that read a file there.
      assertEquals(texts(it, 1), [...texts(it, 0), deeper.text]);
      assertEquals(
        deeper.text,
        `<context about="rules">
Rules for everything below ${it.workdir}/app, from ${it.workdir}/app/AGENTS.md:

The app is in French. &lt;context>
</context>`,
      );
      const { rules } = await it.call("session.get");
      const told_files = ["AGENTS.md", "docs/style.md", "app/AGENTS.md"];
      assertEquals(rules.files.map(({ path }: Json) => path), [
        join(home, "AGENTS.md"),
        ...told_files.map((name) => join(it.workdir, name)),
      ]);
      const { messages } = await it.call("session.transcript");
      assertEquals(messages[0], { role: "user", text: "Go." });

      // Each request begins with the bytes of the one before, whatever happened between them.
      await it.turn("And now?");
      await it.restart();
      await it.turn("Still?");
      assertEquals(it.client.of("context.told").length, 1);
      assertEquals(it.client.of("rules.loaded").length, 2);
      await it.daemon.stop();
      await it.restart();
      await it.turn("And now?");
      const requests = it.server.requests.map((_, n) => sent(it, n));
      assertEquals(requests.length, 5);
      for (const [n, later] of requests.slice(1).entries()) {
        const begin = requests[n].replace(/(?:\}?\])?\}\]$/, "");
        assertEquals(later.slice(0, begin.length), begin, `request ${n + 2}`);
      }
      assertEquals(
        new Set(it.server.requests.map(({ body }) => JSON.stringify(body.tools))).size,
        1,
      );
    },
  );
}

test("what changes is told again, after what was said, and only that", {}, async (it) => {
  write(it, FILES);
  git(it.workdir, "init", "-q", "-b", "main");
  await it.turn("Go.");
  const before = sent(it, -1);
  write(it, { "project/AGENTS.md": "Tests run with `make check`.\n" });
  Deno.removeSync(join(it.workdir, "app/AGENTS.md"));
  git(it.workdir, "checkout", "-q", "-b", "fix");
  await it.turn("And now?");
  const now = texts(it, -1).at(-1)!;
  assertMatch(
    now,
    /^<context about="session">\nThis has changed since you were told:\nBranch: fix\nGit status now: /,
  );
  const rules = it.client.of("rules.loaded").at(-1)!.data;
  assert(now.endsWith(`\n</context>\n\n${rules.text}\n\nAnd now?`), now);
  assertEquals(
    rules.text,
    `<context about="rules">
Rules for everything below ${it.workdir}, from ${it.workdir}/AGENTS.md; ` +
      `this takes the place of what you were told of it:

Tests run with \`make check\`.

These rules no longer hold: ${it.workdir}/docs/style.md, ${it.workdir}/app/AGENTS.md
</context>`,
  );
  assertEquals(sent(it, -1).slice(0, before.length - 1), before.slice(0, -1));
  await it.turn("And now?");
  assertEquals(it.client.of("context.told").length, 2);
  assertEquals(it.client.of("rules.loaded").length, 3);
});

test(
  "a hired session is told where it works and no rules, neither then nor after a restart",
  { start: { trust: "untrusted" } },
  async (it) => {
    write(it, FILES);
    await it.turn("Go.");
    await it.restart();
    await it.turn("And now?");
    assertEquals(it.client.of("context.told").length, 1);
    assertEquals(it.client.of("rules.loaded"), []);
    assert(!it.server.requests.some(({ body }) => JSON.stringify(body).includes("British")));
    // The control: the same directory, a session of the person.
    const { model, workdir } = it;
    const session_id = await it.client.session({ workdir, model, approval: "auto" });
    await it.client.turn(session_id, "Go.");
    assert(texts(it, -1)[0].includes("Write British English."));
  },
);

test("a session further down has the rules from the project's top", {}, async (it) => {
  write(it, FILES);
  git(it.workdir, "init", "-q", "-b", "main");
  const workdir = join(it.workdir, "app");
  const session_id = await it.client.session({ workdir, model: it.model, approval: "auto" });
  await it.client.turn(session_id, "Go.");
  const [first] = it.client.of("rules.loaded").map((event) => event.data);
  assertEquals(first.files.map(({ path }: Json) => path), [
    join(it.place.home, "AGENTS.md"),
    ...["AGENTS.md", "docs/style.md", "app/AGENTS.md"].map((name) => join(it.workdir, name)),
  ]);
  assertMatch(texts(it, 0)[0], new RegExp(`\nGit repository: ${it.workdir}(?:\n|; commands read)`));
});

test(
  "rules that are a pipe, a link out or too large hold nothing up, and are named",
  {},
  async (it) => {
    const secret = it.place.mkdir("elsewhere");
    write(it, {
      "elsewhere/secret.md": "a secret",
      "project/CLAUDE.md": "@big.md @link.md @../elsewhere/secret.md Fine.",
      "project/big.md": "x".repeat(100_000),
    });
    new Deno.Command("mkfifo", { args: [join(it.workdir, "AGENTS.md")] }).outputSync();
    Deno.symlinkSync(join(secret, "secret.md"), join(it.workdir, "link.md"));
    const { data } = await it.turn("Go.");
    assertEquals(data.stop_reason, "ok");
    const { rules } = await it.call("session.get");
    assertEquals(rules.files.map(({ path }: Json) => path), [join(it.workdir, "CLAUDE.md")]);
    assertEquals(rules.skipped.map(({ path }: Json) => path.slice(it.place.dir.length + 1)), [
      "project/AGENTS.md",
      "project/big.md",
      "project/link.md",
      "elsewhere/secret.md",
    ]);
    assert(!sent(it, -1).includes("a secret"));
    await it.turn("And now?");
    assertEquals(it.client.of("rules.loaded").length, 1, "and only once");
  },
);

test("to tell the status runs nothing that a repository names", {}, async (it) => {
  write(it, FILES);
  git(it.workdir, "init", "-q", "-b", "main");
  git(it.workdir, "add", ".");
  const canary = join(it.workdir, "canary");
  write(it, {
    "project/evil.sh": `#!/bin/sh\ntouch ${canary}\ncat\n`,
    "project/.git/info/attributes": "* filter=evil\n",
  });
  Deno.chmodSync(join(it.workdir, "evil.sh"), 0o755);
  for (const name of ["core.fsmonitor", "filter.evil.clean"]) {
    git(it.workdir, "config", name, join(it.workdir, "evil.sh"));
  }
  write(it, { "project/app/main.ts": "mane();\n" });
  // A git that a busy machine keeps waiting tells nothing: that is what is not asked here.
  let told = LATE;
  for (let tries = 0; told.includes(LATE); tries++) {
    assert(tries < 30, "git never answers in time");
    const { workdir, model } = it;
    const session_id = await it.client.session({ workdir, model, approval: "auto" });
    await it.client.turn(session_id, "Go.");
    told = it.client.of("context.told").at(-1)!.data.text;
  }
  assertMatch(told, /\nGit status now: \d changed or new\n/);
  const there = () => [...Deno.readDirSync(it.workdir)].some(({ name }) => name === "canary");
  assert(!there());
  git(it.workdir, "status");
  assert(there(), "the control: git by itself runs it");
});

test("the embedded model is told nothing: it reads instructions only", {}, async (it) => {
  write(it, FILES);
  const { workdir } = it;
  const session_id = await it.client.session({ workdir, model: "builtin/toolbelt" });
  await it.client.turn(session_id, "ls");
  const types = it.client.events.map(({ type }) => type);
  assert(!types.includes("context.told") && !types.includes("rules.loaded"));
});
