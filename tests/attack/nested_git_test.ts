/**
 * A session puts a repository of its own into the working tree that svc looks at: git asks it for
 * changes by a git of its own, and that one runs what is configured there. The control is the person's
 * git, which finds the same working tree.
 */
import { join } from "@std/path";
import { attacksBy, type Loot, lootOf, sharedStage } from "./kit.ts";

const attack = attacksBy("model");
const it = sharedStage();
const NEEDS = { needs: ["git", "sandbox"] } as const;
const AS = "-c user.name=a -c user.email=a@b -c init.defaultBranch=main";

let count = 0;

/** What a filter of the repository inside does; git runs it in the top of that repository. */
const DEEDS: Record<string, string> = {
  "a hook of the repository around it":
    "printf '#!/bin/sh\\necho pwned\\n' > $ROOT/.git/hooks/post-commit",
  "the configuration of the repository around it":
    "git config -f $ROOT/.git/config alias.x '!pwned'",
  "a file of the repository around it": "echo pwned > $ROOT/file",
};
const SEEN = "cat .git/hooks/post-commit .git/config file 2>/dev/null || true";

/** A repository with a gitlink, a worktree of it, and in that a repository with a filter. */
async function withNested(
  deed: string,
  look: (workdir: string, worktree: string) => Promise<unknown>,
): Promise<Loot> {
  const { stage } = it;
  const root = stage.workdir(`nested-${++count}`);
  const sh = (command: string, cwd = root) => stage.victim.sh(command, { cwd });
  // The commit that the worktree has already: git looks further only where that is the same.
  const then = "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z";
  const inner =
    `git init -q sub && cd sub && echo ab > f && git add f && ${then} git ${AS} commit -qm f`;
  await sh(
    `git init -q -b main . && (${inner}) && git add sub 2>/dev/null && ` +
      `echo first > file && git add file && git ${AS} commit -qm first`,
  );
  const made = await stage.call("worktree.create", { workdir: root, name: "task" });
  const worktree: string = made.path;
  // A session of the worktree prepares it, with no more than commands may.
  const script = join(worktree, "sub", "filter.sh");
  const session_id = await stage.session(worktree);
  const prepare = `set -e; rm -rf sub; ${inner}; git config filter.x.clean "sh ${script}"; ` +
    `echo 'f filter=x' > .git/info/attributes; ` +
    `echo ${btoa(`ROOT=${root}\n{ ${deed}; } >/dev/null 2>&1\ncat\n`)} | base64 -d > filter.sh; ` +
    `echo ba > f`;
  await stage.run(session_id, `run ${prepare}`);
  await stage.call("session.kill", { session_id });
  await look(root, worktree);
  return lootOf(await sh(SEEN), "pwned");
}

for (const [what, deed] of Object.entries(DEEDS)) {
  attack(`by a repository in a worktree that is compared, changes ${what}`, {
    ...NEEDS,
    control: () => withNested(deed, (_, cwd) => it.stage.victim.sh("git add --all -- .", { cwd })),
    attempt: () =>
      withNested(deed, (workdir) => it.stage.call("worktree.diff", { workdir, name: "task" })),
  });
  attack(`by a repository in a directory whose changes are kept and undone, changes ${what}`, {
    ...NEEDS,
    control: () => withNested(deed, (_, cwd) => it.stage.victim.sh("git add --all -- .", { cwd })),
    attempt: () =>
      withNested(deed, async (_, worktree) => {
        const { stage } = it;
        const session_id = await stage.session(worktree);
        for (const line of ["touch one", "echo ca > sub/f; touch two"]) {
          await stage.run(session_id, `run ${line}`);
        }
        await stage.call("session.changes", { session_id });
        await stage.call("session.rewind", { session_id });
        await stage.call("session.kill", { session_id });
      }),
  });
  attack(`by a repository in a worktree that is merged, changes ${what}`, {
    ...NEEDS,
    control: () => withNested(deed, (_, cwd) => it.stage.victim.sh("git add --all -- .", { cwd })),
    attempt: () =>
      withNested(
        deed,
        (workdir) =>
          it.stage.call("worktree.merge", { workdir, name: "task", strategy: "squash" })
            .catch(() => {}),
      ),
  });
}
