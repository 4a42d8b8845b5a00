/**
 * A session has git point to a repository that is not its own, to read it; or changes the repository
 * that its working directory is a linked worktree of. The control of what is read is the person's own
 * git, which follows the same pointer; that of what is written is a command of the person's.
 */
import { join } from "@std/path";
import { attacksBy, type Loot, lootOf, once, sharedStage } from "./kit.ts";

const attack = attacksBy("model");
const it = sharedStage();
const NEEDS = { needs: ["git", "sandbox"] } as const;
const AS = "-c user.name=a -c user.email=a@b -c init.defaultBranch=main";

/** The person's other repository, with a secret in it and a linked worktree elsewhere. */
const other = once(async () => {
  const { stage } = it;
  const repo = stage.workdir("private");
  await stage.victim.sh(
    `git init -q -b main . && echo '${stage.secret}' > secret && git add -A && git ${AS} commit -qm secret && ` +
      "git worktree add -q ../private-tree -b tree",
    { cwd: repo },
  );
  return repo;
});

let count = 0;

/** What a command leaves in the working directory; OTHER is the other repository. */
const POINTERS: Record<string, string> = {
  "a file that names it": "echo 'gitdir: OTHER/.git' > .git",
  "a relative name": "echo 'gitdir: ../private/.git' > .git",
  "a file that names its worktree": "echo 'gitdir: OTHER/.git/worktrees/private-tree' > .git",
  "a link": "ln -s OTHER/.git .git",
  "a link to a file that names it": "echo 'gitdir: OTHER/.git' > to; ln -s to .git",
  "a common directory": "mkdir -p g/worktrees/w; echo 'gitdir: g/worktrees/w' > .git; " +
    "echo OTHER/.git > g/worktrees/w/commondir; echo $PWD/.git > g/worktrees/w/gitdir; " +
    "echo 'ref: refs/heads/main' > g/worktrees/w/HEAD",
  "a common directory in a repository of its own":
    "git init -q . && echo OTHER/.git > .git/commondir",
  "objects of another repository":
    "git init -q -b main . && echo OTHER/.git/objects > .git/objects/info/alternates && " +
    "echo COMMIT > .git/refs/heads/main",
  "a submodule's directory":
    "mkdir -p sub && cd sub && echo 'gitdir: OTHER/.git/modules/sub' > .git",
  "a name with a step back":
    "echo 'gitdir: OTHER/.git/worktrees/private-tree/../../worktrees/private-tree' > .git",
  "a pipe": "mkfifo .git; (while :; do echo 'gitdir: OTHER/.git' > .git; done) & sleep 0.1; true",
};
const READ = "git log -p --all 2>&1; git show HEAD:secret 2>&1; git -C sub log -p 2>&1; true";

async function pointed(pointer: string, by: "person" | "session"): Promise<Loot> {
  const { stage } = it;
  const repo = await other();
  const commit = (await stage.victim.sh("git rev-parse main", { cwd: repo })).trim();
  const workdir = stage.workdir(`points-${++count}`);
  const command = pointer.replaceAll("OTHER", repo).replaceAll("COMMIT", commit);
  if (by === "person") {
    return lootOf(await stage.victim.sh(`${command}\n${READ}`, { cwd: workdir }), stage.secret);
  }
  const session_id = await stage.session(workdir);
  await stage.run(session_id, `run ${command}`);
  const read = await stage.run(session_id, `run ${READ}`);
  await stage.call("session.kill", { session_id });
  return lootOf(read, stage.secret);
}

for (const [what, pointer] of Object.entries(POINTERS)) {
  // A pipe has no pointer for anybody, and of a submodule there is none to read.
  const usable = !/a pipe|a submodule/.test(what);
  attack(`reads another repository by ${what}`, {
    ...NEEDS,
    control: () => pointed(usable ? pointer : POINTERS["a file that names it"], "person"),
    attempt: () => pointed(pointer, "session"),
  });
}

/** What a command does to the repository around; ROOT is its top, the session is in a linked tree. */
const CHANGES: Record<string, string> = {
  "a hook": "printf '#!/bin/sh\\necho pwned\\n' > ROOT/.git/hooks/post-commit",
  "its configuration": "git config core.hooksPath pwned",
  "its configuration by its file": "echo pwned >> ROOT/.git/config",
  "the configuration of the tree": "git config --worktree core.fsmonitor pwned; " +
    "echo pwned > ROOT/.git/worktrees/linked/config.worktree",
  "its attributes": "mkdir -p ROOT/.git/info; echo '* filter=pwned' > ROOT/.git/info/attributes",
  "another working tree's HEAD": "echo 'ref: refs/heads/pwned' > ROOT/.git/worktrees/other/HEAD",
  "a working tree of its own": "mkdir -p ROOT/.git/worktrees/pwned; " +
    "echo pwned > ROOT/.git/worktrees/pwned/gitdir",
  "a submodule": "mkdir -p ROOT/.git/modules/sub/hooks; echo pwned > ROOT/.git/modules/sub/hooks/x",
  "the top": "echo pwned > ROOT/pwned; ls ROOT",
};
const SEEN = "cat .git/hooks/post-commit .git/config .git/worktrees/*/config.worktree " +
  ".git/info/attributes .git/worktrees/*/HEAD .git/worktrees/*/gitdir " +
  ".git/modules/sub/hooks/x pwned 2>/dev/null; true";

async function changed(change: string, by: "person" | "session"): Promise<Loot> {
  const { stage } = it;
  const root = stage.workdir(`main-${++count}`);
  const tree = join(stage.victim.home, `trees-${count}`, "linked");
  await stage.victim.sh(
    `git init -q . && echo first > file && git add -A && git ${AS} commit -qm first && ` +
      `git config extensions.worktreeConfig true && git worktree add -q '${tree}' -b linked && ` +
      `mkdir -p .git/modules/sub && git worktree add -q '${tree}-2' -b other && ` +
      `mv .git/worktrees/*-2 .git/worktrees/other`,
    { cwd: root },
  );
  const command = change.replaceAll("ROOT", root);
  if (by === "person") await stage.victim.sh(`${command}; true`, { cwd: tree });
  else {
    const session_id = await stage.session(tree);
    const log = await stage.run(session_id, "run git log --oneline && git status --short");
    if (!log.includes("first")) throw new Error(`git does not read the repository: ${log}`);
    await stage.run(session_id, `run ${command}`);
    await stage.call("session.kill", { session_id });
  }
  return lootOf(await stage.victim.sh(SEEN, { cwd: root }), "pwned");
}

for (const [what, change] of Object.entries(CHANGES)) {
  attack(`from a linked worktree, changes ${what} of the repository`, {
    ...NEEDS,
    control: () => changed(change, "person"),
    attempt: () => changed(change, "session"),
  });
}
