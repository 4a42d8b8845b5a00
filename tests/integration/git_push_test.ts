/** Commands push and fetch with the person's credentials, which they never have. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import {
  COMMITTER,
  git,
  type GitServerOptions,
  KNOWS,
  LOGIN,
  PRIVATE,
  startGitServer,
  useHelper,
} from "../support/git_server.ts";
import type { Answer } from "../support/model_servers.ts";
import { hasProgram } from "../support/programs.ts";
import { processesWith, Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux" || !hasProgram("bwrap") ||
  !hasProgram("git") || !hasProgram("openssl") || !hasProgram("curl");
const DONE: Answer = { text: "Done." };
const run = (command: string, more = {}): Answer => ({
  calls: [{ name: "run_command", args: { command, ...more } }],
});

interface Options {
  /** What the person's helper does when it is asked. */
  helper?: string;
  hosts?: string[];
  server?: GitServerOptions;
  toml?: string;
  start?: ScenarioOptions["start"];
  env?: Record<string, string>;
}

/** Commands in a clone of `me/repo.git`; `@URL` is the server's address, `@HOST` its host. */
async function withServer(
  commands: readonly (string | Answer)[],
  { helper = KNOWS, hosts = ["@HOST"], server: how, toml = "", start, env = {} }: Options = {},
) {
  const server = startGitServer(how);
  const fill = <T>(value: T): T =>
    JSON.parse(
      JSON.stringify(value).replaceAll("@URL", server.url).replaceAll("@HOST", server.host)
        .replaceAll("@PORT", String(server.port)),
    );
  const repository = server.create("me/repo.git");
  const steps = commands.map((each) => typeof each === "string" ? run(each) : each);
  const it = await Scenario.begin(fill([...steps, DONE]), {
    toml: `[sandbox]\nnetwork = "allowed"\nallowed_hosts = ["${server.host}"]\n` +
      `git_credentials = ${JSON.stringify(fill(hosts))}\n${toml}`,
    env: { SSL_CERT_FILE: server.ca, ...env },
    start,
  });
  const { calls } = useHelper(it.place.env.HOME, helper);
  git("init", "-q", "-b", "main", it.workdir);
  git("-C", it.workdir, "pull", "-q", repository, "main");
  git("-C", it.workdir, "remote", "add", "origin", `${server.url}/me/repo.git`);
  commit(it.workdir, "second");
  const outputs = () =>
    it.client.of("session.tool_completed").map(({ data }) => ({
      ok: data.ok as boolean,
      output: data.output as string,
    }));
  const questions = () => it.client.of("approval.requested").map(({ data }) => data);
  return {
    it,
    server,
    repository,
    calls,
    outputs,
    questions,
    /** Runs a turn and gives each question the next decision. */
    async answered(...answers: Record<string, unknown>[]) {
      const before = questions().length;
      const ended = it.turn("go");
      for (const [n, answer] of answers.entries()) {
        await until(() => questions().length > before + n, `question ${n + 1}`);
        const { approval_id } = questions()[before + n];
        await it.call("session.approve", { approval_id, ...answer });
      }
      await ended;
      return outputs();
    },
    async [Symbol.asyncDispose]() {
      await it[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function commit(workdir: string, subject: string): void {
  Deno.writeTextFileSync(join(workdir, `${subject}.txt`), `${subject}\n`);
  git("-C", workdir, "add", `${subject}.txt`);
  git("-C", workdir, ...COMMITTER, "commit", "-qm", subject);
}

const ALLOW = { decision: "allow" };
const PUSH = "git push origin main";

Deno.test({
  name: "a push takes one question, lands in the repository, and leaves no secret behind",
  ignore,
  async fn() {
    await using here = await withServer([PUSH]);
    const [pushed] = await here.answered(ALLOW);
    assertEquals(pushed.ok, true, pushed.output);
    assertStringIncludes(pushed.output, "main -> main");
    assertEquals(here.server.log(here.repository), ["second", "first"]);
    const [question, ...others] = here.questions();
    assertEquals(others, []);
    assertEquals(question.tool, "git_push");
    assertEquals(
      question.reason,
      `git push to ${here.server.host}/me/repo.git with your credential`,
    );
    assertEquals(question.choices, [`git_push: ${here.server.host}/me/repo.git`]);
    assertEquals(question.args.for, `run ${PUSH}`);
    const did = here.calls().map((line) => line.split(" ")[0]);
    assertEquals(did, ["get", "store"], "asked once, and told once that it works");
    assertEquals(secretsBelow(here.it.place.home), []);
  },
});

function textIfAny(path: string): string {
  try {
    return new TextDecoder("latin1").decode(Deno.readFileSync(path));
  } catch (error) {
    // A file that is written anew has another name for a moment.
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** The files below svc's own directory that hold the password, as it is or coded. */
function secretsBelow(directory: string): string[] {
  const { username, password } = LOGIN;
  const secrets = [password, btoa(`${username}:${password}`)];
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory, isFile }) => {
    const path = join(directory, name);
    if (isDirectory) return secretsBelow(path);
    const text = isFile ? textIfAny(path) : "";
    return secrets.some((secret) => text.includes(secret)) ? [path] : [];
  });
}

Deno.test({
  name: "a private repository is cloned and fetched, and a public one without the credential",
  ignore,
  async fn() {
    await using here = await withServer([
      `git clone -q @URL/${PRIVATE}/secret.git /tmp/secret && cat /tmp/secret/first.txt && ` +
      "git -C /tmp/secret remote get-url origin; git -C /tmp/secret config remote.origin.url",
      "git clone -q @URL/me/repo /tmp/open; git fetch -q && git log -1 --format=%s origin/main",
    ]);
    here.server.create(`${PRIVATE}/secret.git`);
    Deno.symlinkSync(here.repository, here.repository.replace(/\.git$/, ""));
    const [secret, open] = await here.answered();
    assertEquals(secret.ok, true, secret.output);
    assertStringIncludes(secret.output, "first\n");
    // Clones keep the address that was asked for.
    assertStringIncludes(secret.output, `\n${here.server.url}/${PRIVATE}/secret.git`);
    assertEquals(open.output, "first");
    const sent = here.server.asked.filter(({ authorization }) => authorization !== null);
    assert(sent.length > 0);
    assertEquals(sent.filter(({ line }) => !line.includes(`/${PRIVATE}/`)), []);
    assertEquals(here.calls().map((line) => line.split(" ")[0]), ["get", "store"]);
    assertEquals(here.questions(), []);
  },
});

Deno.test({
  name: "a push that the person refuses changes nothing, and says so",
  ignore,
  async fn() {
    await using here = await withServer([PUSH]);
    const [refused] = await here.answered({ decision: "deny" });
    assertEquals(refused.ok, false);
    const why = `the person did not allow git push to ${here.server.host}/me/repo.git`;
    assertStringIncludes(refused.output, `remote: svc: ${why}`);
    assertStringIncludes(refused.output, `[svc refused a connection: ${why}]`);
    assertEquals(here.server.log(here.repository), ["first"]);
    assertEquals([here.server.asked, here.calls()], [[], []]);
  },
});

Deno.test({
  name: "a host that is not named gets no credential, and the note says what could be granted",
  ignore,
  async fn() {
    await using here = await withServer([
      PUSH,
      "curl -sS -x http://127.0.0.1:3128 " +
      "'http://localhost.git.svc.invalid:1/a/info/refs?service=git-upload-pack'",
    ], { hosts: [], env: { GIT_SSL_CAINFO: "/unused" } });
    const { it, server } = here;
    git("-C", it.workdir, "config", "http.sslVerify", "false");
    const [pushed, asked] = await here.answered();
    assertEquals(pushed.ok, false);
    assertStringIncludes(pushed.output, "could not read Username for 'https://localhost:");
    assertStringIncludes(
      pushed.output,
      `[git has no credential for ${server.host} in the sandbox; the person can let it use ` +
        `theirs: "${server.host}" in git_credentials`,
    );
    assertStringIncludes(asked.output, "svc: names below git.svc.invalid are for git alone");
    assertEquals(server.asked.filter(({ authorization }) => authorization !== null), []);
    assertEquals([here.calls(), here.questions()], [[], []]);
  },
});

Deno.test({
  name: "an answer holds for its repository alone: for the session, and by a rule after a restart",
  ignore,
  async fn() {
    const other = "git push @URL/me/other.git main";
    const steps = [PUSH, DONE, `${PUSH} && ${other}`, DONE, `${PUSH} && ${other}`];
    await using here = await withServer(steps);
    const { it, server } = here;
    const second = server.create("me/other.git");
    const repositories = () => here.questions().map(({ args }) => String(args.repository));
    await here.answered({ decision: "allow_always" });
    commit(it.workdir, "third");
    const rule = `git_push: ${server.host}/me/other.git`;
    await here.answered({ decision: "allow_always", always: { rule, scope: "directory" } });
    assertEquals(repositories(), [`${server.url}/me/repo.git`, `${server.url}/me/other.git`]);
    assertEquals(server.log(second), ["third", "second", "first"]);
    await it.restart();
    commit(it.workdir, "fourth");
    const done = await here.answered();
    assertEquals(done.at(-1)!.ok, true, done.at(-1)!.output);
    assertEquals([server.log(here.repository)[0], server.log(second)[0]], ["fourth", "fourth"]);
    assertEquals(repositories().length, 2);
  },
});

Deno.test({
  name: "a rule refuses, allows and asks by the repository's address",
  ignore,
  async fn() {
    const push = (name: string) => `git push @URL/${name} main`;
    await using here = await withServer(
      [push("free/a.git"), push("no/b.git"), push("free/c.git")],
      {
        toml: '[permissions]\nallow = ["git_push: localhost:*/free/*"]\n' +
          'deny = ["git_push: localhost:*/no/*"]\nask = ["git_push: localhost:*/free/c.git"]\n',
      },
    );
    for (const name of ["free/a.git", "no/b.git", "free/c.git"]) here.server.create(name);
    const [free, no, asked] = await here.answered({ decision: "allow_always" });
    assertEquals([free.ok, no.ok, asked.ok], [true, false, true], asked.output);
    assertStringIncludes(
      no.output,
      `git push to ${here.server.host}/no/b.git is denied by the rule`,
    );
    const [question, ...others] = here.questions();
    assertEquals([question.args.repository, others], [`${here.server.url}/free/c.git`, []]);
    assertEquals(question.choices, undefined);
  },
});

Deno.test({
  name: "a helper that fails, knows nothing or hangs ends the push with what to do",
  ignore,
  async fn() {
    for (
      const [helper, why] of [
        ["exit 1", "git credential fill: it exited with 128"],
        ["echo quit=1", "git credential fill: it exited with 128"],
        ["sleep 600", "git credential fill: it did not end within 15 s"],
      ]
    ) {
      await using here = await withServer([PUSH], { helper });
      const [failed] = await here.answered(ALLOW);
      assertEquals(failed.ok, false);
      assertStringIncludes(
        failed.output,
        `the person's git gave no credential for ${here.server.host} (${why}); they can log in ` +
          "outside of the sandbox",
      );
      assertEquals(here.calls().map((line) => line.split(" ")[0]), ["get"]);
      assertEquals(here.server.log(here.repository), ["first"]);
    }
  },
});

Deno.test({
  name: "a credential that the server refuses is rejected once, and git asks nobody",
  ignore,
  async fn() {
    const helper = KNOWS.replace(LOGIN.password, "an-old-password");
    await using here = await withServer([`${PUSH}; git fetch -q @URL/me/repo.git; ${PUSH}`], {
      helper,
    });
    const [failed] = await here.answered(ALLOW);
    assertEquals(failed.ok, false);
    assertStringIncludes(
      failed.output,
      `remote: svc: ${here.server.host} did not accept the person's credential for /me/repo.git; ` +
        "they can log in again",
    );
    assert(!failed.output.includes("Username"), failed.output);
    assert(!failed.output.includes("old-password"), failed.output);
    const did = here.calls();
    assertEquals(did.map((line) => line.split(" ")[0]), ["get", "erase"]);
    assertStringIncludes(did[1], "password=an-old-password");
  },
});

Deno.test({
  name: "work for others and commands in the background do not push, and a reload takes it back",
  ignore,
  async fn() {
    const background = { command: PUSH, background: true, timeout_s: 30 };
    const steps: (string | Answer)[] = [
      { calls: [{ name: "run_command", args: background }] },
      "sleep 3; git config --get-regexp 'url.*'",
      DONE,
      "git config --get-regexp 'url.*'; git ls-remote @URL/private/secret.git; " +
      "curl -sS 'http://localhost.git.svc.invalid:@PORT/me/repo.git/info/refs?service=git-upload-pack'",
      DONE,
      "git ls-remote origin; git config --get-regexp 'url.*'",
    ];
    await using here = await withServer(steps, { server: {} });
    const { it, server } = here;
    await here.answered();
    assertStringIncludes(here.outputs()[1].output, `insteadof ${server.url}/`);
    assertEquals([server.log(here.repository), here.questions()], [["first"], []]);
    const workdir = it.place.mkdir("hired");
    const start = { workdir, model: it.model, approval: "auto", trust: "untrusted" };
    const hired = await it.client.session(start);
    await it.client.turn(hired, "go");
    const done = it.client.events.filter(({ session_id, type }) =>
      session_id === hired && type === "session.tool_completed"
    );
    const said = String(done[0].data.output);
    assert(!said.includes("insteadof"), said);
    assertStringIncludes(said, "are for git alone");
    const path = join(it.place.home, "daemon.toml");
    const toml = Deno.readTextFileSync(path).replace(/^git_credentials = .*$/m, "");
    Deno.writeTextFileSync(path, toml);
    await it.client.rpc.call("daemon.reload_config");
    const taken = (await here.answered()).at(-1)!;
    assert(!taken.output.includes("insteadof"), taken.output);
    const facts = it.client.of("context.told").map(({ data }) => String(data.text));
    assertStringIncludes(facts[0], `the person's credentials for git at ${server.host}`);
    assertEquals(server.asked.filter(({ authorization }) => authorization !== null), []);
  },
});

Deno.test({
  name: "a question about a push that a killed daemon leaves does not hold up the session",
  ignore,
  async fn() {
    await using here = await withServer([PUSH, PUSH], { toml: '[agent]\ncontinue = "always"\n' });
    const { it } = here;
    await it.send("go");
    await until(() => here.questions().length === 1, "a question");
    await it.restart();
    // The command had begun, so it is not run again; the next one asks anew.
    await until(() => here.questions().length === 2, "a question for the next command");
    const { pending_approvals } = await it.call("session.get");
    assertEquals(pending_approvals.length, 1);
    const { approval_id } = pending_approvals[0];
    await it.call("session.approve", { approval_id, decision: "allow" });
    await it.event("turn.completed");
    assertStringIncludes(here.outputs()[0].output, "it may or may not have taken effect");
    assertEquals(here.server.log(here.repository), ["second", "first"]);
  },
});

Deno.test({
  name: "what svc runs for a command ends with it",
  ignore,
  async fn() {
    const mark = `3${Math.floor(Math.random() * 1e6)}`;
    await using here = await withServer([PUSH], { helper: `sleep ${mark}` });
    const ended = here.answered(ALLOW);
    await until(() => processesWith(`sleep ${mark}`).length > 0, "the helper");
    const { data: { lane_id } } = await here.it.event(
      "lane.status",
      ({ data }) => data.lane_id !== "main" && data.status === "running",
    );
    await here.it.call("lanes.kill", { lane_id });
    await ended;
    await until(() => processesWith(`sleep ${mark}`).length === 0, "the end of the helper", 5_000);
  },
});

// ── what users of such proxies have reported ─────────────────────────────────────────────────────

Deno.test({
  name:
    "a large push goes in chunks, a long fetch is compressed, and the protocol's version arrives",
  ignore,
  async fn() {
    await using here = await withServer([
      PUSH,
      "git fetch -q @URL/me/other.git main && git log -1 --format=%s FETCH_HEAD",
    ]);
    const { it, server } = here;
    server.create("me/other.git", "elsewhere");
    const large = join(it.workdir, "large.bin");
    const bytes = new Uint8Array(3_000_000);
    for (let at = 0; at < bytes.length; at += 60_000) {
      crypto.getRandomValues(bytes.subarray(at, at + 60_000));
    }
    Deno.writeFileSync(large, bytes);
    git("-C", it.workdir, "add", "large.bin");
    git("-C", it.workdir, ...COMMITTER, "commit", "-qm", "large");
    for (let n = 0; n < 60; n++) {
      git("-C", it.workdir, ...COMMITTER, "commit", "-qm", `${n}`, "--allow-empty");
    }
    const [pushed] = await here.answered(ALLOW);
    assertEquals(pushed.ok, true, pushed.output);
    assertEquals(git("-C", here.repository, "cat-file", "-s", "main:large.bin"), "3000000");
    const sent = server.asked.filter(({ line }) => line === "POST /me/repo.git/git-receive-pack");
    assertEquals(sent.some(({ headers }) => !headers.has("content-length")), true);
    const fetched = server.asked.filter(({ line }) => line.endsWith("/git-upload-pack"));
    assertEquals(fetched.every(({ headers }) => headers.get("git-protocol") === "version=2"), true);
    const coded = fetched.map(({ headers }) => headers.get("content-encoding"));
    assert(coded.includes("gzip"), String(coded));
    assertEquals(here.outputs()[1].ok, true, here.outputs()[1].output);
  },
});

Deno.test({
  name: "remotes over ssh and with relative submodules reach the host too",
  ignore,
  async fn() {
    const rewritten = "git ls-remote --get-url";
    await using here = await withServer([
      `${rewritten} https://github.com/a/b; ${rewritten} https://github.com:443/a/b; ` +
      `${rewritten} http://github.com/a/b; ${rewritten} git@github.com:a/b.git; ` +
      `${rewritten} ssh://git@github.com/a/b; ${rewritten} https://github.com.evil/a`,
      "git clone -q --recurse-submodules @URL/me/outer.git /tmp/outer && cat /tmp/outer/inner/first.txt",
    ], { hosts: ["github.com", "@HOST"] });
    const { it, server } = here;
    server.create("me/inner.git");
    const outer = server.create("me/outer.git");
    const work = it.place.mkdir("outer");
    git("clone", "-q", outer, work);
    const inner = git("-C", outer.replace("outer", "inner"), "rev-parse", "main");
    Deno.writeTextFileSync(
      join(work, ".gitmodules"),
      '[submodule "inner"]\n\tpath = inner\n\turl = ../inner.git\n',
    );
    git("-C", work, "update-index", "--add", "--cacheinfo", `160000,${inner},inner`);
    git("-C", work, "add", ".gitmodules");
    git("-C", work, ...COMMITTER, "commit", "-qm", "inner");
    git("-C", work, "push", "-q", "origin", "main");
    const [addresses, cloned] = await here.answered();
    const there = "http://github.com.git.svc.invalid/a/b";
    assertEquals(addresses.output.split("\n"), [
      ...[there, there, there, `${there}.git`, there],
      "https://github.com.evil/a",
    ]);
    assertEquals(cloned.output, "first");
  },
});

Deno.test({
  name:
    "a renamed repository is followed on its host, where a push is asked anew, and not elsewhere",
  ignore,
  async fn() {
    const moved: Record<string, string> = {
      "/me/old.git": "/me/repo.git",
      "/me/gone.git": "https://elsewhere.example/me/repo.git",
    };
    await using here = await withServer(
      ["git push @URL/me/old.git main", "git ls-remote @URL/me/gone.git"],
      {
        server: {
          answer(request) {
            const { pathname, search } = new URL(request.url);
            const [name] = Object.keys(moved).filter((it) => pathname.startsWith(`${it}/`));
            if (name === undefined) return undefined;
            const location = moved[name] + pathname.slice(name.length) + search;
            return new Response(null, { status: 301, headers: { location } });
          },
        },
      },
    );
    const [pushed, gone] = await here.answered(ALLOW, ALLOW);
    assertEquals(pushed.ok, true, pushed.output);
    assertEquals(
      here.questions().map(({ args }) => args.repository),
      [`${here.server.url}/me/old.git`, `${here.server.url}/me/repo.git`],
    );
    assertEquals(here.server.log(here.repository), ["second", "first"]);
    assertStringIncludes(
      gone.output,
      "leads git to https://elsewhere.example/me/repo.git/info/refs",
    );
  },
});

Deno.test({
  name: "the person's own configuration chooses the account of a repository",
  ignore,
  async fn() {
    await using here = await withServer([PUSH]);
    const config = join(here.it.place.env.HOME, ".gitconfig");
    const { url } = here.server;
    Deno.writeTextFileSync(
      config,
      `${Deno.readTextFileSync(config)}\tuseHttpPath = true\n[credential "${url}/me/repo.git"]\n` +
        `\tusername = me\n`,
    );
    const [pushed] = await here.answered(ALLOW);
    assertEquals(pushed.ok, true, pushed.output);
    assertMatch(
      here.calls()[0],
      /^get protocol=https host=localhost:\d+ path=me\/repo\.git username=me/,
    );
  },
});

Deno.test({
  name: "an account that is named with its host is asked for, at addresses with its name, too",
  ignore,
  async fn() {
    await using here = await withServer(["git push https://me@@HOST/me/repo.git main"], {
      hosts: ["me@@HOST"],
    });
    const [pushed] = await here.answered(ALLOW);
    assertEquals(pushed.ok, true, pushed.output);
    assertMatch(here.calls()[0], /^get protocol=https host=localhost:\d+ username=me /);
  },
});

Deno.test({
  name: "a server's words about an error arrive, without what it should not say",
  ignore,
  async fn() {
    const said: Record<string, string> = { missing: "Repository not found.\n" };
    await using here = await withServer(
      ["git ls-remote @URL/me/missing", "git ls-remote @URL/me/echo"],
      {
        server: {
          answer(request) {
            const { pathname } = new URL(request.url);
            const name = pathname.split("/")[2];
            if (name === "repo.git") return undefined;
            const authorization = request.headers.get("authorization");
            if (name === "echo" && authorization === null) {
              return new Response("", { status: 401, headers: { "www-authenticate": "Basic" } });
            }
            const text = said[name] ?? `you sent ${authorization}`;
            return new Response(text, { status: name === "echo" ? 403 : 404 });
          },
        },
      },
    );
    const [missing, echo] = await here.answered();
    assertStringIncludes(missing.output, "remote: Repository not found.");
    assertStringIncludes(echo.output, "403");
    assert(!echo.output.includes("Basic"), echo.output);
  },
});

Deno.test({
  name:
    "a client that waits before it sends is told to go on, and one that leaves frees the server",
  ignore,
  async fn() {
    const at = "http://localhost.git.svc.invalid:@PORT/me/repo.git";
    const post = `curl -sS -m 5 -H 'Expect: 100-continue' --expect100-timeout 60 ` +
      "-H 'Content-Type: application/x-git-upload-pack-request' --data-binary 0000";
    let left = 0;
    await using here = await withServer([
      `${post} -o /dev/null -w '%{http_code}' ${at}/git-upload-pack`,
      `curl -sS -m 3 '${at}/silent/info/refs?service=git-upload-pack'`,
    ], {
      server: {
        async answer(request) {
          if (!request.url.includes("/silent/")) return undefined;
          const gone = Promise.withResolvers<void>();
          request.signal.addEventListener("abort", () => gone.resolve());
          await gone.promise;
          left++;
          return new Response();
        },
      },
    });
    const [waited] = await here.answered();
    assertEquals(waited.output, "200");
    await until(() => left === 1, "the end of the connection", 5_000);
  },
});

// ── a session that can write what the person's git reads ─────────────────────────────────────────

const helperOf = (lines: string) => `[credential]\n\thelper =\n\thelper = "!${lines}"\n`;

/** Where a session works, below the person's home, and what it plants there for git. */
const PLANTED: {
  what: string;
  /** Variables of the daemon. */
  env?: Record<string, string>;
  /** The file with the person's own configuration. */
  own: string;
  /** What stands in there besides. */
  more?: string;
  works: string;
  plants: string;
}[] = [
  {
    what: "a session in the home directory, which has no .gitconfig",
    own: ".config/git/config",
    works: "",
    plants: ".gitconfig",
  },
  {
    what: "a session in ~/.config",
    own: ".gitconfig",
    works: ".config",
    plants: ".config/git/config",
  },
  {
    what: "a session where an included file is missing",
    own: ".gitconfig",
    more: "[include]\n\tpath = ~/dotfiles/git/more\n",
    works: "dotfiles",
    plants: "dotfiles/git/more",
  },
  {
    what: "a session where GIT_CONFIG_GLOBAL leads",
    env: { GIT_CONFIG_GLOBAL: "dotfiles/gitconfig" },
    own: "dotfiles/gitconfig",
    works: "dotfiles",
    plants: "dotfiles/gitconfig",
  },
  {
    what: "a session where XDG_CONFIG_HOME leads",
    env: { XDG_CONFIG_HOME: "settings" },
    own: ".gitconfig",
    works: "settings",
    plants: "settings/git/config",
  },
];

for (const { what, env = {}, own, more = "", works, plants } of PLANTED) {
  Deno.test({
    name: `${what} has no program of its own run outside, and one elsewhere gets the credential`,
    ignore,
    async fn() {
      const home = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "git-home-" }));
      const variables = {
        HOME: home,
        ...Object.fromEntries(Object.entries(env).map(([name, path]) => [name, join(home, path)])),
      };
      try {
        await using here = await withServer([PUSH, DONE, PUSH], { env: variables });
        const { it, server, repository } = here;
        Deno.mkdirSync(dirname(join(home, own)), { recursive: true });
        const settings = Deno.readTextFileSync(join(home, ".gitconfig")) + more;
        Deno.removeSync(join(home, ".gitconfig"));
        Deno.writeTextFileSync(join(home, own), settings);
        const workdir = join(home, works);
        const file = join(home, plants);
        Deno.mkdirSync(dirname(file), { recursive: true });
        const { session_id } = await it.client.rpc.call("session.start", {
          workdir,
          model: it.model,
        });
        const ran = join(home, "ran");
        Deno.writeTextFileSync(file, helperOf(`touch ${ran}; :`));
        // This is what it would have svc do.
        const asked = new Deno.Command("git", {
          args: ["credential", "fill"],
          env: {
            ...variables,
            PATH: Deno.env.get("PATH")!,
            GIT_TERMINAL_PROMPT: "0",
            GIT_ASKPASS: "",
          },
          clearEnv: true,
          cwd: "/",
          stdin: "piped",
          stderr: "null",
          stdout: "null",
        }).spawn();
        const input = new Blob(["protocol=https\nhost=elsewhere.example\n\n"]).stream();
        await Promise.all([input.pipeTo(asked.stdin), asked.status]);
        Deno.removeSync(ran);
        const before = here.calls().length;
        const [refused] = await here.answered(ALLOW);
        assertEquals(refused.ok, false);
        assertStringIncludes(
          refused.output,
          `remote: svc: svc does not ask the person's git for a credential: git would use ${file}, ` +
            `which a session in ${workdir} can or could write`,
        );
        assertEquals([exists(ran), here.calls().length], [false, before]);
        assertEquals(server.log(repository), ["first"]);
        await it.client.rpc.call("session.delete", { session_id });
        Deno.removeSync(file);
        if (file === join(home, own)) Deno.writeTextFileSync(file, settings);
        const pushed = (await here.answered(ALLOW)).at(-1)!;
        assertEquals(pushed.ok, true, pushed.output);
        assertEquals(server.log(repository), ["second", "first"]);
      } finally {
        await Deno.remove(home, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "svc doctor names the hosts, and settings that cannot hold",
  ignore,
  async fn() {
    await using here = await withServer([DONE], { hosts: ["github.com", "git.example.org:8443"] });
    const { it } = here;
    const doctor = async () => (await it.place.svc(["doctor"])).stdout;
    assertStringIncludes(
      await doctor(),
      "git uses your credentials at github.com, git.example.org:8443, and asks you about pushes",
    );
    const path = join(it.place.home, "daemon.toml");
    const toml = Deno.readTextFileSync(path);
    Deno.writeTextFileSync(path, toml.replace('network = "allowed"', "network = true"));
    assertStringIncludes(await doctor(), "this does not apply, because network is true");
    Deno.writeTextFileSync(path, toml.replace("[sandbox]", '[sandbox]\nshell = "none"'));
    assertStringIncludes(
      await doctor(),
      "this does not apply, because commands do not run in bubblewrap",
    );
    for (
      const host of ["*.github.com", "https://github.com", "me:x@github.com", "[::1]:1", "a:80"]
    ) {
      Deno.writeTextFileSync(
        path,
        toml.replace(/^git_credentials = .*$/m, `git_credentials = ["${host}"]`),
      );
      const error = await it.client.rpc.call("daemon.reload_config").then(() => "", String);
      assertStringIncludes(error, "sandbox.git_credentials");
    }
  },
});
