/**
 * A repository that someone else made: its git configuration, hooks and files name programs and other
 * places. The control is git as the person runs it in the same repository.
 */
import { join } from "@std/path";
import { attacksBy, type Json, type Loot, lootOf, once, sharedStage } from "./kit.ts";

const attack = attacksBy("repository");
const it = sharedStage();

/** What a trap runs; it leaves a file in the repository, which every sandbox lets it do. */
const EVIL = '"$REPO/evil.sh"';
const evil = (name: string) => `git config ${name} ${EVIL}`;
const hook = (name: string) =>
  `cp "$REPO/evil.sh" .git/hooks/${name} && chmod 755 .git/hooks/${name}`;
/** A file of the repository's to which an attribute is given. */
const attribute = (text: string) => `echo '*.txt ${text}' > .git/info/attributes`;

/** Done with the repository: a change in a worktree, which is looked at and merged. */
const CHECKOUT = "git worktree add -q -b mine ../mine";
const COMMIT =
  "echo more >> a.txt; git add a.txt; git commit -q -m more; git commit -q --amend --no-edit";
const DIFF = "echo more >> a.txt; git add a.txt; git --no-pager diff HEAD";
const MERGE =
  "git checkout -q -b other; echo other > a.txt; git commit -q -a -m other; git checkout -q main; " +
  "echo ours > a.txt; git commit -q -a -m ours; git merge -q other -m merged";

/** Traps that do not get in each other's way are set in one repository. */
const TOGETHER = [
  [
    "core.fsmonitor",
    "core.editor",
    "a filter that smudges",
    "an external diff",
    "a merge driver",
    "signing of commits",
    "core.sshCommand and a remote",
    "an alias",
    ...["post-checkout", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
    ...["post-rewrite", "post-index-change", "reference-transaction", "pre-merge-commit"],
    "post-merge",
  ],
  [
    "core.hooksPath",
    "a filter that cleans",
    "a diff driver's command",
    "a merge driver by default",
    "signing with another kind of key",
    "an included configuration",
    "a remote that is a program",
  ],
  [
    "a filter that is a process",
    "a diff driver's text",
    "a configuration that is included by place",
    "a promise of missing objects",
  ],
  ["a filter with an odd name", "a configuration of the worktree"],
  ["a configuration that is included by branch"],
  ["an attribute in a file of the repository"],
];

const TRAPS: Record<string, [trap: string, control: string]> = {
  "core.fsmonitor": [evil("core.fsmonitor"), "git status"],
  "core.hooksPath": [
    'mkdir h; cp evil.sh h/post-checkout; chmod 755 h/*; git config core.hooksPath "$REPO/h"',
    CHECKOUT,
  ],
  "core.editor": [evil("core.editor"), "echo x > a.txt; git commit -a"],
  "a filter that smudges": [`${evil("filter.x.smudge")}; ${attribute("filter=x")}`, CHECKOUT],
  "a filter that cleans": [`${evil("filter.x.clean")}; ${attribute("filter=x")}`, COMMIT],
  "a filter that is a process": [`${evil("filter.x.process")}; ${attribute("filter=x")}`, CHECKOUT],
  "a filter with an odd name": [
    `${evil("filter.a=b.c.smudge")}; ${attribute("filter=a=b.c")}; ${evil("filter.x.smudge")}; ` +
    `echo '*.md filter=x' >> .git/info/attributes`,
    CHECKOUT,
  ],
  "an attribute in a file of the repository": [
    `${evil("filter.x.smudge")}; echo '* filter=x' > .gitattributes; git add .; git commit -q -m x`,
    CHECKOUT,
  ],
  "an external diff": [evil("diff.external"), DIFF],
  "a diff driver's command": [`${evil("diff.x.command")}; ${attribute("diff=x")}`, DIFF],
  "a diff driver's text": [`${evil("diff.x.textconv")}; ${attribute("diff=x")}`, DIFF],
  "a merge driver": [`${evil("merge.x.driver")}; ${attribute("merge=x")}`, MERGE],
  "a merge driver by default": [`${evil("merge.x.driver")}; git config merge.default x`, MERGE],
  "signing of commits": [`${evil("gpg.program")}; git config commit.gpgSign true`, COMMIT],
  "signing with another kind of key": [
    `${evil("gpg.ssh.program")}; git config gpg.format ssh; git config user.signingKey x; ` +
    "git config commit.gpgSign true",
    COMMIT,
  ],
  "an included configuration": [
    `printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' "$REPO" > more; git config include.path ../more`,
    "git status",
  ],
  "a configuration that is included by place": [
    `printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' "$REPO" > more; ` +
    `git config "includeIf.gitdir:$REPO/.path" "$REPO/more"`,
    "git status",
  ],
  "a configuration that is included by branch": [
    `printf '[filter "x"]\\n\\tsmudge = %s/evil.sh\\n' "$REPO" > more; ${attribute("filter=x")}; ` +
    `git config "includeIf.onbranch:**.path" "$REPO/more"`,
    CHECKOUT,
  ],
  "a configuration of the worktree": [
    `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor ${EVIL}`,
    "git status",
  ],
  "core.sshCommand and a remote": [
    `${evil("core.sshCommand")}; git remote add origin ssh://x.invalid/x; ` +
    "git config branch.main.remote origin; git config branch.main.merge refs/heads/main",
    "git fetch",
  ],
  "a remote that is a program": [
    `git remote add origin "ext::$REPO/evil.sh"; git config protocol.ext.allow always`,
    "git fetch origin",
  ],
  "a promise of missing objects": [
    `git remote add origin "ext::$REPO/evil.sh"; git config protocol.ext.allow always; ` +
    "git config extensions.partialClone origin; git config remote.origin.promisor true; " +
    "git config core.repositoryFormatVersion 1",
    "git fetch origin",
  ],
  "an alias": [
    `git config alias.worktree "!$REPO/evil.sh"; git config alias.x "!$REPO/evil.sh"`,
    "git x",
  ],
};
for (
  const [name, control] of Object.entries({
    "post-checkout": CHECKOUT,
    "pre-commit": COMMIT,
    "prepare-commit-msg": COMMIT,
    "commit-msg": COMMIT,
    "post-commit": COMMIT,
    "post-rewrite": COMMIT,
    "post-index-change": COMMIT,
    "reference-transaction": COMMIT,
    "pre-merge-commit": MERGE.replace("ours > a.txt", "ours > b.txt; git add b.txt"),
    "post-merge":
      "git checkout -q -b o; git commit -q --allow-empty -m o; git checkout -q main; git merge o",
  })
) TRAPS[`the hook ${name}`] = [hook(name), control];

for (const names of TOGETHER) {
  // Worked with once, and looked at for each of its traps.
  const worked = once(async () => {
    const repo = await repository();
    for (const name of names) await trap(repo, name);
    const done = await work(repo);
    if (!done.startsWith("create done")) throw new Error(done);
    if (!done.includes("changes done; rewind done; redo done")) throw new Error(done);
    return repo;
  });
  for (const name of names) {
    attack(`has ${TRAPS[name] ? name : `the hook ${name}`} run by svc`, {
      needs: ["git"],
      async control() {
        const repo = await repository();
        await trap(repo, name);
        await it.stage.victim.sh(trapOf(name)[1], { cwd: repo, env: { ...AS, REPO: repo } });
        return await ran(repo, name);
      },
      attempt: async () => await ran(await worked(), name),
    });
  }
}

function trapOf(name: string): [trap: string, control: string] {
  return TRAPS[name] ?? TRAPS[`the hook ${name}`];
}

const AS = {
  GIT_AUTHOR_NAME: "V",
  GIT_AUTHOR_EMAIL: "v@example.org",
  GIT_COMMITTER_NAME: "V",
  GIT_COMMITTER_EMAIL: "v@example.org",
};

let count = 0;

/** A repository of the victim's. */
async function repository(): Promise<string> {
  const { victim } = it.stage;
  return await victim.repository(join(victim.home, `r${count++}`, "repo"));
}

/** Sets a trap in a repository. */
async function trap(repo: string, name: string): Promise<void> {
  const { victim } = it.stage;
  const program = name.replaceAll(/\W/g, "-");
  const script = `#!/bin/sh\necho '${name.replaceAll("'", "")}' >> '${repo}/ran'\nexit 0\n`;
  victim.write(join(repo, `${program}.sh`), script, 0o755);
  const line = trapOf(name)[0].replaceAll("evil.sh", `${program}.sh`);
  const said = await victim.sh(`set -e; ${line}`, { cwd: repo, env: { ...AS, REPO: repo } });
  if (/fatal|error/.test(said)) throw new Error(said);
  await victim.sh("rm -f ran", { cwd: repo });
}

/** Whether a trap has run, or with none named: anything. */
async function ran(repo: string, name?: string): Promise<Loot> {
  const path = join(repo, "ran");
  const text = await it.stage.victim.sh(`test -e '${path}' && cat '${path}'`);
  if (name === undefined) {
    return (await it.stage.victim.can(`test -e '${path}'`)) ? "ran" : undefined;
  }
  return text.split("\n").includes(name.replaceAll("'", "")) ? text : undefined;
}

/**
 * What svc does with a repository for a person: a session, a worktree, its diff and its merge, and
 * what a turn changed, undone and done again.
 */
async function work(repo: string): Promise<string> {
  const { victim } = it.stage;
  const said: string[] = [];
  const call = async (verb: string, more: Json = {}) => {
    try {
      await it.stage.call(`worktree.${verb}`, { workdir: repo, ...more });
      said.push(`${verb} done`);
    } catch (error) {
      said.push((error as Error).message);
    }
  };
  const session_id = await it.stage.session(repo);
  await call("create", { name: "task" });
  const at = join(repo, ".svc/worktrees/task");
  if (said[0] === "create done") victim.write(join(at, "a.txt"), "changed\n", 0o644);
  await call("list");
  await call("diff", { name: "task", full: true });
  await call("merge", { name: "task", strategy: "squash", message: "merged" });
  await call("clean", { name: "task", force: true });
  const output = await it.stage.run(session_id, "run echo more >>a.txt; echo new >new.txt");
  if (output !== "") said.push(output);
  const undo = async (done: string, verb: string, more: Json = {}) => {
    try {
      await it.stage.call(`session.${verb}`, { session_id, ...more });
      said.push(`${done} done`);
    } catch (error) {
      said.push((error as Error).message);
    }
  };
  await undo("changes", "changes");
  await undo("rewind", "rewind");
  await undo("redo", "rewind", { undo: true });
  await it.stage.call("session.kill", { session_id });
  return said.join("; ");
}

// What is named where svc takes names.

const named = once(() => repository());
const wellNamed = once(() => made({ name: "first" }));
const wellBased = once(() => made({ name: "second", base: "main" }));

for (
  const name of [
    "../x",
    "../../x",
    "/tmp/x",
    ".",
    "..",
    "-x",
    "--help",
    "a/../../x",
    "a b",
    "a;touch ran",
    "$(touch ran)",
    "`touch ran`",
    "a\nb",
    "a\u0000b",
    "a..b",
    "a.lock",
    "@{-1}",
    "a~1",
    "a:b",
    "\u202ea",
    "x".repeat(300),
  ]
) {
  const shown = JSON.stringify(name).slice(1, 30);
  attack(`has a worktree made with the name ${shown}`, {
    needs: ["git"],
    control: wellNamed,
    attempt: () => made({ name }),
  });
}
for (
  const base of [
    "--upload-pack=touch ran",
    "--detach",
    "-B",
    "--lock",
    "main;touch ran",
    "$(touch ran)",
    ":/first",
    "../other",
    "main\u0000x",
  ]
) {
  attack(`has a worktree made from ${JSON.stringify(base).slice(1, -1)}`, {
    needs: ["git"],
    control: wellBased,
    attempt: async () => base === ":/first" ? onlyItself(base) : await made({ name: "task", base }),
  });
}

/** What a worktree of this name or base becomes, and whether something ran. */
async function made(params: Json): Promise<Loot> {
  const repo = await named();
  try {
    const { path } = await it.stage.call("worktree.create", { workdir: repo, ...params });
    return path;
  } catch {
    return await ran(repo);
  }
}

/** A way to name a commit may be taken, as long as it is one of this repository's. */
async function onlyItself(base: string): Promise<Loot> {
  const repo = await repository();
  const head = await it.stage.victim.git(repo, "rev-parse", "HEAD");
  try {
    const { base_commit } = await it.stage.call("worktree.create", {
      workdir: repo,
      name: "task",
      base,
    });
    return base_commit === head ? undefined : base_commit;
  } catch {
    return await ran(repo);
  }
}

// Files that lead elsewhere, in what is checked out.

const LINKS: Record<string, string> = {
  "a link to a secret": 'ln -s "$SECRET" notes.txt',
  "a link to the home": 'ln -s "$HOME" notes.txt',
  "a link that is relative": "ln -s ../../../../../secret.txt notes.txt",
};
for (const [what, line] of Object.entries(LINKS)) {
  attack(`has ${what} followed by a diff`, {
    needs: ["git"],
    async control() {
      const repo = await repository();
      const env = { SECRET: it.stage.secret_file };
      return lootOf(
        await it.stage.victim.sh('ln -s "$SECRET" notes.txt; cat notes.txt', { cwd: repo, env }),
        it.stage.secret,
      );
    },
    async attempt() {
      const repo = await repository();
      await it.stage.call("worktree.create", { workdir: repo, name: "task" });
      const env = { SECRET: it.stage.secret_file };
      await it.stage.victim.sh(line, { cwd: join(repo, ".svc/worktrees/task"), env });
      const answer = await it.stage.call("worktree.diff", {
        workdir: repo,
        name: "task",
        full: true,
      });
      return lootOf(JSON.stringify(answer), it.stage.secret);
    },
  });
}

// Programs that the project's own files name: they run when a session checks it, in the sandbox.

const PROJECTS: Record<string, [file: string, text: string, control: string]> = {
  "a Makefile": ["Makefile", 'test:\n\tcat "$(SECRET)"\n\techo left > "$(LEFT)"\n', "make test"],
  "a script of Python": [
    "test_x.py",
    'import os\ndef test_x():\n    open("LEFT", "w").write("left")\n    assert open("SECRET").read() == ""\n',
    "python3 -c 'import test_x; test_x.test_x()'",
  ],
};
for (const [what, [file, text, control]] of Object.entries(PROJECTS)) {
  attack(`has the person's files read and written by the tests of ${what}`, {
    needs: ["sandbox", "python"],
    control: async () =>
      await tested(file, text, (repo) => it.stage.victim.sh(control, { cwd: repo })),
    attempt: async () =>
      await tested(file, text, async (repo) => {
        const session_id = await it.stage.session(repo);
        const said = await it.stage.run(session_id, "verify test");
        await it.stage.call("session.kill", { session_id });
        return said;
      }),
  });
}

/** What the tests of a project did beyond it, however they are run. */
async function tested(
  file: string,
  text: string,
  run: (repo: string) => Promise<string>,
): Promise<Loot> {
  const { victim, secret_file, secret } = it.stage;
  const repo = victim.mkdir(join(victim.home, `p${count++}`));
  const left = join(victim.home, `left-${count}`);
  const filled = text.replaceAll("$(SECRET)", secret_file).replaceAll("$(LEFT)", left)
    .replaceAll("SECRET", secret_file).replaceAll("LEFT", left);
  victim.write(join(repo, file), filled, 0o644);
  const pyproject = '[project]\nname = "x"\nversion = "1"\n';
  if (file.endsWith(".py")) victim.write(join(repo, "pyproject.toml"), pyproject, 0o644);
  const said = await run(repo);
  return lootOf(said, secret) ?? (await victim.can(`test -e '${left}'`) ? left : undefined);
}
