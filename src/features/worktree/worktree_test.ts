import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { landlock_abi } from "../../../tests/support/landlock.ts";
import { granted } from "../../../tests/support/permissions.ts";
import { gitInstalled, Repository } from "../../../tests/support/repository.ts";
import { withoutHome } from "../../../tests/support/surroundings.ts";
import { detectSandbox, type Sandbox } from "../../jail/sandbox.ts";
import { SvcError } from "../../protocol/errors.ts";
import {
  cleanWorktree,
  commitAll,
  createWorktree,
  diffWorktree,
  listWorktrees,
  type MergeStrategy,
  mergeWorktree,
} from "./worktree.ts";

const runs = granted("run", "read", "write", "env", "sys") && gitInstalled();
const sandboxes: Record<string, Sandbox | undefined> = {
  none: runs ? await detectSandbox("none", withoutHome()) : undefined,
  bubblewrap: runs ? await detectSandbox("auto", withoutHome()) : undefined,
  landlock: runs && landlock_abi > 0 ? await detectSandbox("landlock") : undefined,
};

/** The operations on one repository. */
class Trees {
  readonly repo: Repository;
  readonly sandbox: Sandbox;
  signal: AbortSignal = new AbortController().signal;

  constructor(repo: Repository, sandbox: Sandbox) {
    this.repo = repo;
    this.sandbox = sandbox;
  }

  get call() {
    return { repo: this.repo.root, sandbox: this.sandbox, signal: this.signal };
  }

  create = (name: string, base?: string) => createWorktree({ ...this.call, name, base });
  list = () => listWorktrees(this.call);
  diff = (name: string, full = false) => diffWorktree({ ...this.call, name, full });
  clean = (name: string, force = false) => cleanWorktree({ ...this.call, name, force });
  merge = (name: string, strategy: MergeStrategy = "ff-only") =>
    mergeWorktree({ ...this.call, branch: `svc/${name}`, strategy });
  commit = (path: string, message: string) => commitAll({ ...this.call, path, message });

  /** Makes a worktree with a commit. */
  async worked(name: string, files: Record<string, string>) {
    const made = await this.create(name);
    this.repo.write(files, made.path);
    const commit = await this.commit(made.path, `work on ${name}`);
    return { ...made, commit: commit! };
  }
}

/** One test for each sandbox, with a repository of its own. */
function each(
  name: string,
  body: (trees: Trees, repo: Repository) => Promise<void>,
  files?: Record<string, string>,
): void {
  for (const [kind, sandbox] of Object.entries(sandboxes)) {
    Deno.test({
      name: `${name} (${kind})`,
      ignore: sandbox?.kind !== kind,
      async fn() {
        using repo = new Repository(files);
        await body(new Trees(repo, sandbox!), repo);
      },
    });
  }
}

async function refusal(promise: Promise<unknown>, code: string): Promise<string> {
  const error = await assertRejects(() => promise, SvcError);
  assertEquals(error.code, code, error.message);
  return error.message;
}

each("a worktree is made, worked in, compared, merged and removed", async (trees, repo) => {
  const first = repo.git("rev-parse", "HEAD");
  const made = await trees.create("task-1");
  assertEquals(made, {
    name: "task-1",
    path: join(repo.root, ".svc", "worktrees", "task-1"),
    branch: "svc/task-1",
    base_commit: first,
  });
  assertEquals(repo.git("status", "--porcelain"), "");
  repo.write({ "a.txt": "two\n", "new/b.txt": "b\n" }, made.path);

  const diff = await trees.diff("task-1");
  assertEquals(diff.files, [{ path: "a.txt", added: 1, deleted: 1 }, {
    path: "new/b.txt",
    added: 1,
    deleted: 0,
  }]);
  assertEquals([diff.files_changed, diff.added, diff.deleted, diff.truncated], [2, 2, 1, false]);
  assertStringIncludes(diff.patch, "+++ b/new/b.txt\n@@ -0,0 +1 @@\n+b\n");
  assertEquals((await trees.list())[0].uncommitted, 2);

  const commit = await trees.commit(made.path, "Two\n\nand b");
  assertEquals(repo.git("show", "-s", "--format=%B", commit!), "Two\n\nand b");
  assertEquals(await trees.commit(made.path, "nothing"), undefined);
  assertEquals((await trees.diff("task-1")).patch, diff.patch);

  assertEquals(await trees.merge("task-1"), { merged: true, commit });
  assertEquals(Deno.readTextFileSync(join(repo.root, "a.txt")), "two\n");
  assertEquals(repo.git("rev-parse", "HEAD"), commit);
  assertEquals(repo.git("status", "--porcelain"), "");
  const [item] = await trees.list();
  assertEquals([item.name, item.commit, item.merged, item.uncommitted], [
    "task-1",
    commit,
    true,
    0,
  ]);
  await trees.clean("task-1");
  assertEquals(await trees.list(), []);
  assertEquals(repo.git("branch", "--format=%(refname:short)"), "main");
  assertEquals(repo.git("worktree", "list").split("\n").length, 1);
  assertEquals(repo.git("for-each-ref", "refs/svc"), "");
});

each("squash makes one commit, ours keeps the checkout's files", async (trees, repo) => {
  const one = await trees.worked("one", { "one.txt": "1\n" });
  const two = await trees.worked("two", { "a.txt": "two\n" });
  repo.write({ "main.txt": "main\n" });
  const head = repo.commit("meanwhile");

  const behind = await trees.merge("one", "ff-only");
  assertEquals([behind.merged, behind.conflicts], [false, []]);
  assertStringIncludes(behind.reason!, "squash");
  assertEquals(repo.git("rev-parse", "HEAD"), head);

  const squashed = await trees.merge("one", "squash");
  assertEquals(squashed.merged, true);
  assertEquals(repo.git("rev-list", "--parents", "-1", "HEAD"), `${squashed.commit} ${head}`);
  assertEquals(Deno.readTextFileSync(join(repo.root, "one.txt")), "1\n");
  // Merged, although its commits are not in the history.
  await trees.clean("one");
  assertEquals(one.branch, "svc/one");

  const ours = await trees.merge("two", "ours");
  assertEquals(
    repo.git("rev-list", "--parents", "-1", "HEAD"),
    `${ours.commit} ${squashed.commit} ${two.commit}`,
  );
  assertEquals(Deno.readTextFileSync(join(repo.root, "a.txt")), "one\n");
  assertEquals(repo.git("status", "--porcelain"), "");
  await trees.clean("two");
});

each("a conflict names the files and changes nothing anywhere", async (trees, repo) => {
  const { path, commit } = await trees.worked("task", { "a.txt": "theirs\n", "ok.txt": "ok\n" });
  repo.write({ "a.txt": "ours\n" });
  const head = repo.commit("ours");
  const result = await trees.merge("task", "squash");
  assertEquals([result.merged, result.conflicts], [false, ["a.txt"]]);
  assertEquals(repo.git("rev-parse", "HEAD"), head);
  assertEquals(repo.git("status", "--porcelain"), "");
  assertEquals(repo.gitAt(path, "rev-parse", "HEAD"), commit);
  assertEquals(repo.gitAt(path, "status", "--porcelain"), "");
});

each("what is not committed in the repository stops a merge, whole", async (trees, repo) => {
  await trees.worked("task", { "a.txt": "theirs\n", "b.txt": "theirs\n" });
  const head = repo.git("rev-parse", "HEAD");
  repo.write({ "a.txt": "mine, not committed\n", "b.txt": "mine, new\n" });
  for (const strategy of ["ff-only", "squash"] as const) {
    const result = await trees.merge("task", strategy);
    assertEquals(result.merged, false);
    assert(result.conflicts!.includes("a.txt") || result.conflicts!.includes("b.txt"));
  }
  assertEquals(repo.git("rev-parse", "HEAD"), head);
  assertEquals(Deno.readTextFileSync(join(repo.root, "a.txt")), "mine, not committed\n");
  assertEquals(Deno.readTextFileSync(join(repo.root, "b.txt")), "mine, new\n");
});

each("clean refuses to lose work, unless it is forced to", async (trees, repo) => {
  const { path } = await trees.create("task");
  repo.write({ "new.txt": "new\n" }, path);
  assertStringIncludes(await refusal(trees.clean("task"), "conflict"), "new.txt");
  await trees.commit(path, "new");
  assertStringIncludes(await refusal(trees.clean("task"), "conflict"), "not merged");
  repo.git("worktree", "lock", "--reason", "mine", path);
  assertStringIncludes(await refusal(trees.clean("task", true), "conflict"), "locked: mine");
  repo.git("worktree", "unlock", path);
  await trees.clean("task", true);
  assertEquals(await trees.list(), []);
  await refusal(trees.clean("task", true), "not_found");
  // The name is free again.
  await trees.create("task");
});

each("a worktree whose directory or branch is gone is listed and can be removed", async (trees) => {
  const gone = await trees.create("gone");
  Deno.removeSync(gone.path, { recursive: true });
  const headless = await trees.create("headless");
  trees.repo.git("update-ref", "-d", "refs/heads/svc/headless");
  const problems = (await trees.list()).map(({ name, problem }) => [name, problem]);
  assertEquals(problems, [["gone", "its directory no longer exists"], [
    "headless",
    "its branch svc/headless no longer exists",
  ]]);
  await trees.clean("gone");
  await refusal(trees.clean("headless"), "conflict");
  await trees.clean("headless", true);
  assertEquals(headless.name, "headless");
  assertEquals(await trees.list(), []);
});

each("what a daemon that was killed left of a worktree can be removed", async (trees, repo) => {
  const { path } = await trees.create("half");
  Deno.writeTextFileSync(join(repo.root, ".git/worktrees/half/locked"), "initializing");
  Deno.removeSync(join(path, ".git"));
  await trees.clean("half", true);
  assertEquals(await trees.list(), []);
  repo.git("branch", "svc/half");
  await refusal(trees.create("half"), "conflict");
  await trees.clean("half");
  repo.write({ "x.txt": "x\n" }, path);
  assertEquals((await trees.list())[0].problem, "git does not list it as a worktree");
  await refusal(trees.create("half"), "conflict");
  await refusal(trees.clean("half"), "conflict");
  await trees.clean("half", true);
  Deno.mkdirSync(join(repo.root, ".git/refs/heads/svc"), { recursive: true });
  Deno.writeTextFileSync(join(repo.root, ".git/refs/heads/svc/half.lock"), "");
  await refusal(trees.create("half"), "internal");
  await trees.create("half");
});

each("a long diff is cut, its figures are whole", async (trees, repo) => {
  const { path } = await trees.create("long");
  const line = `${"x".repeat(99)}\n`;
  repo.write({ "big.txt": line.repeat(2_000), "z.txt": "z\n" }, path);
  Deno.writeFileSync(join(path, "data.bin"), new Uint8Array(1_000));
  const cut = await trees.diff("long");
  assertEquals([cut.truncated, cut.patch.length, cut.added], [true, 64 * 1024, 2_001]);
  assertEquals(cut.files.map(({ path, added }) => [path, added]), [
    ["big.txt", 2_000],
    ["data.bin", undefined],
    ["z.txt", 1],
  ]);
  const full = await trees.diff("long", true);
  assertEquals(full.truncated, false);
  assert(full.patch.endsWith("+z\n"));
  assertEquals(repo.gitAt(path, "status", "--porcelain").split("\n").length, 3);
  assertEquals(repo.gitAt(path, "diff", "--cached", "--name-only"), "");
});

each("a name or a base that is not one is refused", async (trees, repo) => {
  const names = ["", ".", "..", "../x", "a/b", "-f", "--force", "a..b", "x.lock", "a b", "a\n"];
  for (const name of [...names, "a.", ".a", "@{1}", "x".repeat(65), "\u0000", "é"]) {
    await refusal(trees.create(name), "validation");
    await refusal(trees.clean(name, true), "validation");
  }
  for (const base of ["--help", "-f", "none", "HEAD:a.txt", "@{upstream}"]) {
    await refusal(trees.create("ok", base), "validation");
  }
  await refusal(
    mergeWorktree({ ...trees.call, branch: "main", strategy: "ff-only" }),
    "validation",
  );
  await refusal(trees.commit(repo.root, "x"), "validation");
  assertEquals(await trees.list(), []);
  const { base_commit } = await trees.create("A.b-c_1", "main");
  assertEquals(base_commit, repo.git("rev-parse", "HEAD"));
  await refusal(trees.create("A.b-c_1"), "conflict");
});

each("what is not a repository's main checkout is refused", async (trees, repo) => {
  const { path } = await trees.create("inner");
  for (const root of [path, repo.beside(""), join(repo.root, "none")]) {
    await refusal(listWorktrees({ ...trees.call, repo: root }), "validation");
  }
});

each("a repository without a commit is refused", async (trees, repo) => {
  const root = repo.beside("empty");
  Deno.mkdirSync(root);
  repo.gitAt(root, "init", "--quiet");
  await refusal(createWorktree({ ...trees.call, repo: root, name: "x" }), "conflict");
  assertEquals(await listWorktrees({ ...trees.call, repo: root }), []);
});

each("hooks, filters, drivers and monitors of the repository are not run", async (trees, repo) => {
  const ran = join(repo.root, "RAN");
  const script = `#!/bin/sh\necho "$0" >> '${ran}'\ncat\n`;
  const program = join(repo.root, ".git", "evil");
  Deno.writeTextFileSync(program, script, { mode: 0o755 });
  repo.write({
    ".gitattributes":
      "*.txt filter=evil diff=evil merge=evil\n*.b filter=a.b=c\n*.p filter=process\n",
    "f.b": "b\n",
    "f.p": "p\n",
  });
  repo.commit("attributes");
  for (const hook of HOOKS) {
    Deno.writeTextFileSync(join(repo.root, ".git", "hooks", hook), script, { mode: 0o755 });
  }
  const config = {
    "filter.evil.clean": program,
    "filter.evil.smudge": program,
    "filter.a.b=c.smudge": program,
    "filter.process.process": program,
    "diff.evil.textconv": program,
    "diff.evil.command": program,
    "diff.external": program,
    "merge.evil.driver": program,
    "merge.default": "evil",
    "core.fsmonitor": program,
    "core.hooksPath": join(repo.root, ".git", "hooks"),
    "core.editor": program,
    "core.pager": program,
    "core.sshCommand": program,
    "core.askPass": program,
    "credential.helper": program,
    "gpg.program": program,
    "commit.gpgSign": "true",
    "merge.verifySignatures": "true",
    "branch.main.mergeOptions": "--squash",
    "log.showSignature": "true",
    "hook.evil.command": program,
    "hook.evil.event": "post-checkout",
  };
  for (const [key, value] of Object.entries(config)) repo.git("config", key, value);
  const one = await trees.worked("one", { "a.txt": "theirs\n", "n.b": "b\n", "n.p": "p\n" });
  await trees.list();
  assertEquals((await trees.diff("one")).files_changed, 3);
  // Moved on by plumbing, which runs nothing.
  assertEquals(await trees.merge("one", "ff-only"), { merged: true, commit: one.commit });
  const two = await trees.worked("two", { "a.txt": "two\n" });
  const three = await trees.worked("three", { "a.txt": "three\n" });
  assertEquals((await trees.merge("two", "squash")).merged, true);
  assertEquals((await trees.merge("three", "squash")).conflicts, ["a.txt"]);
  assertEquals((await trees.merge("three", "ours")).merged, true);
  for (const { name } of [one, two, three]) await trees.clean(name);
  assertEquals(existing(ran), false);
  // Without that care they are.
  repo.git("status");
  assertEquals(existing(ran), true);
});

each(
  "what the configuration includes for worktrees alone is not run either",
  async (trees, repo) => {
    const ran = join(repo.root, "RAN");
    const script = `touch '${ran}'; cat`;
    const dir = join(repo.root, ".git");
    repo.write({ ".gitattributes": "*.txt filter=one\n*.b filter=two\n*.c filter=three\n" });
    repo.write({ "x.b": "b\n", "x.c": "c\n" });
    repo.commit("attributes");
    repo.git("config", "includeIf.onbranch:svc/**.path", "branch.inc");
    repo.git("config", "includeIf.gitdir:**/worktrees/**.path", join(dir, "deep", "dir.inc"));
    const filter = (name: string) =>
      `[filter "${name}"]\n\tclean = "${script}"\n\tsmudge = "${script}"\n`;
    repo.write({
      "branch.inc": filter("one"),
      "deep/dir.inc": `${filter("two")}[includeIf "onbranch:svc/**"]\n\tpath = more.inc\n` +
        `[include]\n\tpath = more.inc\n`,
      "deep/more.inc": filter("three"),
    }, dir);
    const { path } = await trees.worked("task", { "a.txt": "a\n", "y.b": "y\n", "y.c": "y\n" });
    await trees.list();
    await trees.diff("task");
    await trees.merge("task");
    assertEquals(existing(ran), false);
    // Without that care it is.
    repo.write({ "z.txt": "z\n" }, path);
    repo.gitAt(path, "add", "z.txt");
    assertEquals(existing(ran), true);
  },
);

const HOOKS = [
  ...["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout"],
  ...["post-merge", "pre-merge-commit", "post-index-change", "reference-transaction"],
  ...["pre-auto-gc", "post-rewrite", "fsmonitor-watchman"],
];

each("a required filter is not left out: what it should encrypt is not committed", async (
  trees,
  repo,
) => {
  const { path } = await trees.create("task");
  repo.git("config", "filter.crypt.clean", "tr a-z b-za");
  repo.git("config", "filter.crypt.required", "true");
  repo.write({ ".gitattributes": "*.secret filter=crypt\n", "x.secret": "plain\n" }, path);
  assertStringIncludes(await refusal(trees.commit(path, "x"), "internal"), "crypt");
});

each("a .git that whoever works in the worktree rewrote is not followed", async (trees, repo) => {
  const { path } = await trees.create("task");
  using other = new Repository({ "other.txt": "other\n" });
  repo.write({ "new.txt": "new\n" }, path);
  Deno.writeTextFileSync(join(path, ".git"), `gitdir: ${other.root}/.git\n`);
  const commit = await trees.commit(path, "new");
  assertEquals(repo.git("show", "--name-only", "--format=", commit!), "new.txt");
  assertEquals(other.git("rev-list", "--all", "--count"), "1");
  Deno.removeSync(join(path, ".git"));
  Deno.mkdirSync(join(path, ".git"));
  assertEquals((await trees.diff("task")).files.map(({ path }) => path), ["new.txt"]);
  await trees.merge("task");
  await trees.clean("task");
  assertEquals(other.git("status", "--porcelain"), "");
});

each(
  "a merge that is called off before the checkout moves changes nothing",
  async (trees, repo) => {
    const { branch } = await trees.worked("task", { "a.txt": "theirs\n" });
    repo.write({ "main.txt": "main\n" });
    const head = repo.commit("meanwhile");
    // Whenever it comes: either all of the merge happened or nothing of it.
    for (let after = 0; after < 12; after++) {
      const stop = new AbortController();
      let looked = 0;
      const signal = stop.signal;
      const throwIfAborted = signal.throwIfAborted.bind(signal);
      signal.throwIfAborted = () => {
        if (looked++ === after) stop.abort(new Error("called off"));
        throwIfAborted();
      };
      const merging = mergeWorktree({ ...trees.call, branch, strategy: "squash", signal });
      const outcome = await merging.then(({ merged }) => merged, () => false);
      assertEquals(repo.git("status", "--porcelain"), "");
      const moved = repo.git("rev-parse", "HEAD") !== head;
      assertEquals(moved, outcome);
      assertEquals(existing(join(repo.root, ".git", "index.lock")), false);
      if (moved) return;
    }
    throw new Error("it never got through");
  },
);

each("a creation that is called off leaves nothing", async (trees, repo) => {
  repo.write(Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`d/${i}`, `${i}\n`])));
  repo.commit("many");
  let called_off = false;
  // A checkout may be done before anyone can stop it; then the next one is tried.
  for (let attempt = 0; attempt < 20 && !called_off; attempt++) {
    const stop = new AbortController();
    const created = createWorktree({ ...trees.call, name: "task", signal: stop.signal })
      .then(() => true, () => false);
    const watching = setInterval(() => {
      if (existing(join(repo.root, ".svc", "worktrees", "task", "d"))) stop.abort();
    }, 1);
    called_off = !await created;
    clearInterval(watching);
    if (called_off) break;
    await trees.clean("task");
  }
  assertEquals(called_off, true);
  assertEquals(await trees.list(), []);
  assertEquals(repo.git("branch", "--format=%(refname:short)"), "main");
  await trees.create("task");
});

each("operations at once wait for each other", async (trees, repo) => {
  const names = ["a", "b", "c", "d"];
  const made = await Promise.all(names.map((name) => trees.worked(name, { [name]: name })));
  const merged = await Promise.all(names.map((name) => trees.merge(name, "squash")));
  assert(merged.every((it) => it.merged));
  assertEquals(repo.git("rev-list", "--count", "HEAD"), "5");
  await Promise.all([...names.map((name) => trees.clean(name)), trees.list().catch(() => [])]);
  assertEquals(made.length, 4);
  assertEquals(await trees.list(), []);
});

each("commits carry the user's identity, or a neutral one", async (trees, repo) => {
  const author = (commit: string) => repo.git("show", "-s", "--format=%an %ae %cn", commit);
  const { path, commit } = await trees.worked("one", { "b.txt": "b\n" });
  assertMatch(author(commit), /^\S.* \S+@?\S* \S/);
  repo.git("config", "user.name", "Ada");
  repo.git("config", "user.email", "ada@example.org");
  repo.write({ "c.txt": "c\n" }, path);
  assertEquals(author((await trees.commit(path, "c"))!), "Ada ada@example.org Ada");
});

function existing(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

Deno.test({
  name: "a socket that vanishes before the sandbox covers it does not count as an answer of git's",
  ignore: sandboxes.bubblewrap?.kind !== "bubblewrap",
  async fn() {
    using repo = new Repository();
    const sandbox = sandboxes.bubblewrap!;
    const gone = ["--ro-bind-try", "/dev/null", `/usr/svc-gone-${crypto.randomUUID()}.sock`];
    let count = 0;
    let fails = (_: number) => true;
    const failing: Sandbox = {
      ...sandbox,
      argv(command, scope) {
        const made = sandbox.argv(command, scope);
        if (!fails(++count)) return made;
        return {
          ...made,
          args: made.args.flatMap((arg) => arg === "--chdir" ? [...gone, arg] : [arg]),
        };
      },
    };
    const trees = new Trees(repo, failing);
    assertMatch(
      await refusal(trees.create("never"), "internal"),
      /^git rev-parse could not be run/,
    );
    // Whichever command it happens to, a second try succeeds.
    for (let nth = 1; nth <= 12; nth++) {
      count = 0;
      fails = (number) => number === nth;
      assertEquals((await trees.create(`task-${nth}`)).name, `task-${nth}`);
    }
  },
});
