/**
 * Someone puts a program where svc looks for one that it runs outside of the sandbox: a session into a
 * directory of the PATH that lies in its working directory, another user into one that everyone can
 * write. It is not found there. The control is the person's own shell with the same PATH.
 */
import { join } from "@std/path";
import { attacksBy, type Loot, sharedStage, type Stage } from "./kit.ts";

const env: Record<string, string> = {};
const it = sharedStage({
  env,
  policy: `mcp_servers:
  - name: tools
    transport: stdio
    command: planted-server
deploy_targets:
  - name: site
    command: planted-deploy
    cwd: /
    health_url: http://127.0.0.1:9/
`,
  prepare(stage) {
    const { home } = stage.victim;
    const dirs = ["repo/bin", "other/bin", "repo/link", "open"].map((name) => join(home, name));
    env.PATH = [...dirs, "bin", "", "/usr/bin", "/bin"].join(":");
  },
  async begin(stage) {
    for (const name of ["repo", "other", "plain"]) await repository(stage, name);
    stage.victim.mkdir(join(stage.victim.home, "open"));
    Deno.chmodSync(join(stage.victim.home, "open"), 0o777);
    for (const name of ["repo", "other"]) await stage.session(join(stage.victim.home, name));
  },
});

async function repository(stage: Stage, name: string): Promise<void> {
  const made = "git init -q -b main && git -c user.name=a -c user.email=a@b " +
    "commit -q --allow-empty -m first";
  await stage.victim.sh(made, { cwd: stage.workdir(name), env: { PATH: "/usr/bin:/bin" } });
}

/** Plants a program that leaves a mark where no sandbox lets it; runs something; the mark is the loot. */
async function planted(
  directory: string,
  run: (cwd: string) => Promise<unknown>,
  program = "git",
): Promise<Loot> {
  const { victim } = it.stage;
  const mark = join(victim.home, `mark-${crypto.randomUUID()}`);
  const file = join(victim.home, directory, program);
  victim.mkdir(join(victim.home, directory));
  if (directory === "open") Deno.chmodSync(join(victim.home, directory), 0o777);
  victim.write(file, `#!/bin/sh\n: > '${mark}'\nexec /usr/bin/${program} "$@"\n`, 0o755);
  try {
    await run(join(victim.home, directory, ".."));
    return Deno.statSync(mark).isFile ? mark : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  } finally {
    Deno.removeSync(file);
  }
}

const byShell = (cwd: string) => it.stage.victim.sh("git --version", { cwd, env });
const verb = (method: string, name: string, more = {}) => () =>
  it.stage.call(method, { workdir: join(it.stage.victim.home, name), ...more });

const PLACES: Record<string, [string, string]> = {
  "the repository that is looked at": ["repo/bin", "repo"],
  "a session's directory, for another repository": ["other/bin", "plain"],
  "a relative directory of the PATH": ["plain/bin", "plain"],
  "a directory that everyone can write": ["open", "plain"],
};
for (const [what, [directory, name]] of Object.entries(PLACES)) {
  attacksBy("model")(`has its git run outside of the sandbox, from ${what}`, {
    control: () => planted(directory, byShell),
    attempt: () => planted(directory, verb("worktree.list", name)),
    needs: ["git", "sandbox"],
  });
}

attacksBy("model")("has its git run outside of the sandbox by a new worktree and its changes", {
  control: () => planted("repo/bin", byShell),
  attempt: () =>
    planted("repo/bin", async () => {
      await verb("worktree.create", "repo", { name: "task" })();
      await verb("worktree.diff", "repo", { name: "task" })();
    }),
  needs: ["git", "sandbox"],
});

attacksBy("other user")("has a git run by svc doctor", {
  control: () => planted("open", byShell),
  attempt: () => planted("open", () => it.stage.svc(["doctor", "--json"])),
  needs: ["git"],
});

/** What svc runs besides git, and what has it run. */
const RUN: Record<string, [program: string, run: () => Promise<unknown>]> = {
  "what opens an address, by svc open": ["xdg-open", () => it.stage.svc(["open"])],
  "the service manager's program, by svc serve --status": [
    "systemctl",
    () => it.stage.svc(["serve", "--status"]),
  ],
  "the service manager's program, by the daemon": [
    "systemctl",
    () => it.stage.call("service.status").catch(() => {}),
  ],
  "df, by svc doctor": ["df", () => it.stage.svc(["doctor", "--json"])],
  "a browser, by a hired task": ["chromium", () => task("browser", { url: "http://127.0.0.1:9/" })],
  "a tool server that the person named": [
    "planted-server",
    () => it.stage.call("mcp.test_server", { name: "tools" }).catch(() => {}),
  ],
  "a deployment that the person named": [
    "planted-deploy",
    () => task("deploy", { target: "site" }),
  ],
};

/** Runs a task to its end, which is no good one here. */
const task = (task_type: string, extra: Record<string, unknown>) =>
  it.stage.call("task.run", { task_type, description: "now", extra }).catch(() => {});

for (const [what, [program, run]] of Object.entries(RUN)) {
  attacksBy("model")(`has ${what}, run from its directory: ${program}`, {
    control: () =>
      planted(
        "repo/bin",
        (cwd) => it.stage.victim.sh(`${program} --version || true`, { cwd, env }),
        program,
      ),
    attempt: () => planted("repo/bin", run, program),
    needs: ["sandbox"],
  });
}
