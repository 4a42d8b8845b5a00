/**
 * Git works for a session whose repository lies outside of its directory, as users of other agents
 * reported that it did not. The report stands in the name of the step.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled } from "../support/repository.ts";
import { can_run_svc } from "../support/svc.ts";
import { MadeCalls } from "../support/made_calls.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os !== "linux";
/** Commits as somebody, also in what is made later. */
const NAMED = "git config user.name a && git config user.email a@b";
const GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main " +
  "-c protocol.file.allow=always";

/** A repository and what is beside it; the directory of the session is made by `make`. */
const PLACES: Record<string, { source: string; make: string; at: string }> = {
  "a linked worktree": {
    source: "openai/codex#19786",
    make: "git -C main worktree add -q ../feature -b feature",
    at: "feature",
  },
  "a linked worktree in the main checkout": {
    source: "TNG/oh-my-agentic-coder#30",
    make: "git -C main worktree add -q .worktrees/fix -b fix",
    at: "main/.worktrees/fix",
  },
  "a worktree of a bare repository": {
    source: "mensfeld/code-on-incus#572",
    make:
      "git clone -q --bare main bare.git && git -C bare.git worktree add -q ../tree -b tree && cd bare.git && " +
      NAMED,
    at: "tree",
  },
  "a directory in a linked worktree": {
    source: "openai/codex#23661",
    make: "git -C main worktree add -q ../deep -b deep",
    at: "deep/packages/app",
  },
  "a directory below the top": {
    source: "anthropics/claude-code#33657",
    make: "true",
    at: "main/packages/app",
  },
  "a submodule": {
    source: "RyderFreeman4Logos/cli-sub-agent#2820",
    make:
      `git clone -q main part && cd main && ${GIT} submodule --quiet add ../part libs/part && cd libs/part && ${NAMED}`,
    at: "main/libs/part",
  },
  "a git directory elsewhere": {
    source: "git init --separate-git-dir",
    make:
      `${GIT} clone -q --separate-git-dir=elsewhere.git main apart && cd apart && ${NAMED} && ` +
      'git config core.worktree "$PWD"',
    at: "apart",
  },
  "a sparse checkout": {
    source: "buildkite/agent#4199",
    make: `${GIT} clone -q --no-checkout main sparse && cd sparse && ${NAMED} && ` +
      "git sparse-checkout set packages && git checkout -q",
    at: "sparse",
  },
  "a partial clone": {
    source: "github/gh-aw#35947",
    make: "git -C main config uploadpack.allowFilter true && " +
      `${GIT} clone -q --filter=blob:none file://$PWD/main partial && cd partial && ${NAMED}`,
    at: "partial",
  },
  "pointers that are relative": {
    source: "SII-Holos/synergy#1367",
    make: "git -C main worktree add -q ../moves -b moves && " +
      "echo 'gitdir: ../main/.git/worktrees/moves' > moves/.git && " +
      "echo '../../../../moves/.git' > main/.git/worktrees/moves/gitdir",
    at: "moves",
  },
};

/** What git does in a day's work, and what must be true afterwards; outside, as the person sees it. */
const WORK = [
  "git add changed.txt && git commit -qm 'a file'",
  "echo more >> changed.txt && git commit -qam 'more' && git add -A && git commit -q --amend -m 'all'",
  "git switch -qc topic && echo topic > topic.txt && git add . && git commit -qm topic && " +
  "git switch -q - && git merge -q --no-ff -m merged topic && git branch -qd topic",
  "echo later >> changed.txt && git stash -q && git stash pop -q && git checkout -q -- changed.txt",
  "git tag v1 && git rebase -q HEAD~1 && git reset -q --soft HEAD && git fsck --no-progress",
];

/** The lines of the person's own git. */
async function outside(cwd: string, command: string): Promise<string[]> {
  const { stdout, stderr, success } = await new Deno.Command("sh", {
    args: ["-c", command],
    cwd,
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
  }).output();
  assert(success, `${command}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

Deno.test(
  { name: "git works in a repository around or beside the directory", ignore },
  async (t) => {
    await using calls = await MadeCalls.begin();
    const { scenario } = calls;
    const confined = async () => {
      await calls.in("probe");
      const [made] = await calls.make(["run_command", { command: "ls -a /home /root" }]);
      return !made.output.includes(".bashrc");
    };
    assert(await confined());
    for (const [name, { source, make, at }] of Object.entries(PLACES)) {
      await t.step(`${name} (${source})`, async () => {
        const top = scenario.place.mkdir(name.replaceAll(" ", "-"));
        const first = `${GIT} init -q main && cd main && ${NAMED} && mkdir -p packages/app && ` +
          "echo one > packages/app/file && echo root > root.txt && git add -A && " +
          `${GIT} commit -qm 'the first' && cd ..`;
        const { success, stderr } = await new Deno.Command("sh", {
          args: ["-c", `${first} && ${make}`],
          cwd: top,
          env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
        }).output();
        assert(success, new TextDecoder().decode(stderr));
        await calls.in(join(name.replaceAll(" ", "-"), at), { "changed.txt": "x\n" });
        const read = (command: string): [string, unknown] => ["run_command", { command }];
        const look = async (status: string) => {
          const made = await calls.make(
            read("git log --oneline"),
            read("git status --short ."),
            read("git show --stat $(git rev-list --max-parents=0 HEAD)"),
            read("git diff HEAD -- . && git branch --show-current"),
            read("git status --short"),
          );
          assert(made.every(({ ok }) => ok), JSON.stringify(made));
          assertStringIncludes(made[0].output, "the first");
          assertEquals(made[1].output, status);
          assertStringIncludes(made[2].output, "root.txt");
          assertEquals(made[4].output.match(/^ ?D.*/m), null, made[4].output);
        };
        await look("?? changed.txt");
        const workdir = join(top, at);
        const before = await outside(workdir, "git ls-files --full-name :/ | sort");
        const worked = await calls.make(...WORK.map(read));
        assert(worked.every(({ ok }) => ok), JSON.stringify(worked));
        const added = (await outside(workdir, "git ls-files --full-name :/ | sort"))
          .filter((path) => !before.includes(path)).map((path) => path.split("/").at(-1));
        assertEquals(added, ["changed.txt", "topic.txt"]);
        assertEquals(
          await outside(workdir, "git diff --name-only --diff-filter=D HEAD~2 HEAD"),
          [],
        );
        assertEquals(await outside(workdir, "git status --short"), []);
        await outside(workdir, "git fsck --no-progress");
        if (name !== "a linked worktree") return;
        const { session_id } = scenario;
        await scenario.restart();
        scenario.session_id = session_id;
        await look("");
        const [made] = await calls.make(read("git commit -q --allow-empty -m again"));
        assert(made.ok, made.output);
      });
    }
  },
);

Deno.test(
  { name: "a git directory that does not name the checkout is hidden, with what to do", ignore },
  async () => {
    await using calls = await MadeCalls.begin();
    const top = calls.scenario.place.mkdir("apart");
    await outside(
      top,
      `${GIT} init -q private && ${GIT} -C private commit -q --allow-empty -m secret`,
    );
    await outside(top, `mkdir work && echo "gitdir: $PWD/private/.git" > work/.git`);
    await calls.in("apart/work");
    const [log] = await calls.make(["run_command", { command: "git log" }]);
    assertEquals(log.ok, false);
    assertStringIncludes(
      log.output,
      `[commands do not see ${top}/private/.git, because it does not name this checkout; in the ` +
        'checkout the person can run: git config core.worktree "$PWD"]',
    );
    await outside(join(top, "work"), 'git config core.worktree "$PWD"');
    const [after] = await calls.make(["run_command", { command: "git log" }]);
    assertStringIncludes(after.output, "secret");
  },
);

Deno.test(
  { name: "where a part of a checkout belongs to another session, git only reads", ignore },
  async () => {
    await using calls = await MadeCalls.begin();
    const { scenario } = calls;
    const top = scenario.place.mkdir("shared");
    await outside(
      top,
      `${GIT} init -q . && ${NAMED} && mkdir -p one two/deep && echo 1 > one/file && echo 2 > two/deep/file && ` +
        `git add -A && ${GIT} commit -qm first`,
    );
    const status: [string, unknown] = ["run_command", { command: "git status --short && ls .." }];
    const commit: [string, unknown] = [
      "run_command",
      { command: "echo x >> file && git commit -qam 'a change'" },
    ];
    await calls.in("shared/one");
    const one = scenario.session_id;
    const [alone] = await calls.make(status);
    assertEquals(alone.output, "one\ntwo");
    await calls.in("shared/two/deep");
    const two = scenario.session_id;

    for (const session_id of [one, two]) {
      scenario.session_id = session_id;
      const [seen, refused] = await calls.make(status, commit);
      assertStringIncludes(seen.output, " D ");
      assertEquals(refused.ok, false);
      assertStringIncludes(refused.output, "[this command can only read");
      assertStringIncludes(refused.output, "another session works in");
    }
    // A session of the whole checkout is another one too, also after a restart.
    await scenario.client.rpc.call("session.kill", { session_id: two });
    await calls.in("shared");
    const whole = scenario.session_id;
    scenario.session_id = one;
    await scenario.restart();
    const [refused] = await calls.make(commit);
    assertStringIncludes(refused.output, `another session works in ${top}`);
    await scenario.client.rpc.call("session.kill", { session_id: whole });
    const [done, after] = await calls.make(commit, status);
    assert(done.ok, done.output);
    assertEquals(after.output, "one\ntwo");
    const committed = await outside(top, "git show --name-status --format= HEAD");
    assertEquals(committed, ["M\tone/file", "M\ttwo/deep/file"]);
  },
);

Deno.test(
  { name: "sessions in two worktrees of one repository commit side by side", ignore },
  async () => {
    await using calls = await MadeCalls.begin();
    const { scenario } = calls;
    const top = scenario.place.mkdir("trees");
    const names = ["one", "two", "three"];
    await outside(
      top,
      `${GIT} init -q main && cd main && ${NAMED} && git commit -q --allow-empty -m first && ` +
        names.map((name) => `git worktree add -q ../${name} -b ${name}`).join(" && "),
    );
    const sessions: string[] = [];
    for (const name of ["main", ...names]) {
      await calls.in(`trees/${name}`);
      sessions.push(scenario.session_id);
    }
    const command =
      "for n in 1 2 3 4 5; do echo $n >> file && git add file && git commit -qm $n; done";
    const text = calls.message(["run_command", { command }]);
    const ended = sessions.map((session_id) =>
      scenario.client.wait(
        (event) => event.session_id === session_id && event.type === "turn.completed",
        "turn.completed",
      )
    );
    for (const session_id of sessions) {
      await scenario.client.rpc.call("session.send", { session_id, text });
    }
    await Promise.all(ended);
    for (const name of ["main", ...names]) {
      const log = await outside(join(top, name), "git log --format=%s --reverse");
      assertEquals(log, ["first", "1", "2", "3", "4", "5"], name);
    }
    await outside(join(top, "main"), "git fsck --no-progress && git status --short && ls -a .git");
    const left = [...Deno.readDirSync(join(top, "main/.git"))].map(({ name }) => name);
    assertEquals(left.filter((name) => /commondir|config.worktree/.test(name)), []);
  },
);
