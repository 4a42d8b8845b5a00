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
    make: "git clone -q --bare main bare.git && git -C bare.git worktree add -q ../tree -b tree",
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
    make: `git clone -q main part && cd main && ${GIT} submodule --quiet add ../part libs/part`,
    at: "main/libs/part",
  },
  "pointers that are relative": {
    source: "SII-Holos/synergy#1367",
    make: "git -C main worktree add -q ../moves -b moves && " +
      "echo 'gitdir: ../main/.git/worktrees/moves' > moves/.git && " +
      "echo '../../../../moves/.git' > main/.git/worktrees/moves/gitdir",
    at: "moves",
  },
};

Deno.test({ name: "git reads a repository around or beside the directory", ignore }, async (t) => {
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
      const first = `${GIT} init -q main && cd main && mkdir -p packages/app && ` +
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
      const look = async () => {
        const made = await calls.make(
          read("git log --oneline"),
          read("git status --short ."),
          read("git show --stat HEAD"),
          read("git diff HEAD -- . && git branch --show-current"),
          read("git add changed.txt"),
        );
        assertEquals(
          made.map(({ ok }) => ok),
          [true, true, true, true, false],
          JSON.stringify(made),
        );
        assertStringIncludes(made[0].output, "the first");
        assertStringIncludes(made[1].output, "?? changed.txt");
        assertStringIncludes(made[2].output, "root.txt");
        assertStringIncludes(made[4].output, "which lies outside of the working directory");
      };
      await look();
      if (name !== "a linked worktree") return;
      const { session_id } = scenario;
      await scenario.restart();
      scenario.session_id = session_id;
      await look();
    });
  }
});
