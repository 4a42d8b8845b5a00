/** A fork in a worktree of its own has the files of before its message. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { gitInstalled } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";

const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });

/** All files and links of a directory with content and mode, without those that `left_out` matches. */
function treeOf(dir: string, left_out: RegExp, prefix = ""): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const { name } of Deno.readDirSync(join(dir, prefix))) {
    const path = prefix + name;
    if (left_out.test(path)) continue;
    const info = Deno.lstatSync(join(dir, path));
    if (info.isSymlink) tree[path] = `-> ${Deno.readLinkSync(join(dir, path))}`;
    else if (info.isDirectory) Object.assign(tree, treeOf(dir, left_out, `${path}/`));
    else {
      const text = new TextDecoder("latin1").decode(Deno.readFileSync(join(dir, path)));
      tree[path] = `${(info.mode! & 0o777).toString(8)} ${text}`;
    }
  }
  return Object.fromEntries(Object.entries(tree).sort());
}

const WORK = /^(\.git|\.svc)$/;
/** What the worktree feature adds to a repository. */
const ADDED = /^(worktrees|refs\/heads\/svc|logs\/refs\/heads\/svc|refs\/svc)$/;

function gitIn(dir: string, line: string): string {
  const args = ["-c", `git -c user.name=a -c user.email=a@b.invalid ${line}`];
  const { success, stdout } = new Deno.Command("sh", { args, cwd: dir }).outputSync();
  assert(success, line);
  return new TextDecoder().decode(stdout).trim();
}

Deno.test({
  name: "a fork in a worktree has the files of before the message, and the repository stays",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run(
        "echo one >a; rm b; mkdir -p d; printf 'x\\000' >'d/new file'; chmod 750 tool; ln -s a l",
      ),
      { text: "One." },
      run("echo two >a; rm -r d; echo late >late"),
      { text: "Two." },
      run("echo fork >a"),
      { text: "In the fork." },
    ]);
    const { workdir } = it;
    const put = (name: string, text: string) => Deno.writeTextFileSync(join(workdir, name), text);
    for (const name of ["a", "b", "tool", "same"]) put(name, "base\n");
    gitIn(workdir, "init -q -b main .");
    gitIn(workdir, "add -A && git -c user.name=a -c user.email=a@b.invalid commit -qm base");
    put("same", "staged\n");
    gitIn(workdir, "add same");
    put("same", "not committed\n");
    await it.turn("one");
    const then = treeOf(workdir, WORK);
    const { message_id } = await it.send("two");
    await it.event("turn.completed", ({ data }) => data.message === "Two.");
    const now = treeOf(workdir, WORK);
    const repository = treeOf(join(workdir, ".git"), ADDED);
    const status = gitIn(workdir, "--no-optional-locks status --porcelain");

    const { rpc } = it.client;
    const fork = await it.call("session.fork", { message_id, worktree: true });
    assertStringIncludes(fork.workdir, join(".svc", "worktrees", "fork-"));
    assertEquals(treeOf(fork.workdir, WORK), then);
    assertEquals(treeOf(workdir, WORK), now);
    assertEquals(treeOf(join(workdir, ".git"), ADDED), repository);
    assertEquals(gitIn(workdir, "--no-optional-locks status --porcelain"), status);
    assertStringIncludes(gitIn(fork.workdir, "status --porcelain --branch"), "## svc/fork-");

    const { session_id } = fork;
    await rpc.call("session.subscribe", { session_id });
    await it.client.turn(session_id, "go on");
    assertEquals(treeOf(fork.workdir, WORK), { ...then, a: "644 fork\n" });
    await rpc.call("session.rewind", { session_id });
    assertEquals(treeOf(fork.workdir, WORK), then);
    assertEquals(treeOf(workdir, WORK), now);

    const ctl = await it.place.svc(["ctl", "sessions", "fork", it.session_id, "--worktree"]);
    assertEquals(ctl.code, 0, ctl.stderr);
    const latest = await rpc.call("session.get", { session_id: ctl.stdout.trim() });
    assertEquals(treeOf(latest.workdir as string, WORK), now);
  },
});

Deno.test({
  name: "a fork in a worktree that fails leaves no session and no worktree",
  ignore,
  async fn() {
    await using it = await Scenario.begin([run("echo one >a"), { text: "One." }]);
    await it.turn("one");
    const { rpc } = it.client;
    const fails = async () => {
      const error = await assertRejects(() => it.call("session.fork", { worktree: true }));
      const { sessions } = await rpc.call("session.list", {}) as { sessions: unknown[] };
      assertEquals(sessions.length, 1);
      return (error as SvcError).code;
    };
    assertEquals(await fails(), "validation");
    gitIn(it.workdir, "init -q -b main .");
    assertEquals(await fails(), "conflict");
    const own = join(it.workdir, ".svc");
    const names = [...Deno.readDirSync(join(own, "sessions", it.session_id))].map((each) =>
      each.name
    );
    assertEquals(names.filter((name) => name.startsWith("fork-")), []);
    gitIn(it.workdir, "commit -q --allow-empty -m base");
    const fork = await it.call("session.fork", { worktree: true });
    assertEquals(treeOf(fork.workdir, WORK), { a: "644 one\n" });
  },
});

Deno.test({
  name: "a fork into a worktree that a kill cut off is gone after the next start",
  ignore,
  async fn() {
    const command = "for n in $(seq 3000); do echo new >f$n; done";
    await using it = await Scenario.begin([run(command), { text: "Done." }]);
    const { workdir, session_id } = it;
    for (let n = 1; n <= 3_000; n++) Deno.writeTextFileSync(join(workdir, `f${n}`), "mine\n");
    gitIn(workdir, "init -q -b main .");
    gitIn(workdir, "commit -q --allow-empty -m base");
    const { message_id } = await it.send("go");
    await it.event("turn.completed");
    const now = treeOf(workdir, WORK);
    const names = (dir: string) => {
      try {
        return [...Deno.readDirSync(dir)].map(({ name }) => name);
      } catch {
        return [];
      }
    };
    const own = join(workdir, ".svc");
    const left = () => ({
      marks: names(join(it.place.home, "ledger", "forking")),
      worktrees: names(join(own, "worktrees")),
      branches: gitIn(workdir, "branch --list 'svc/*'"),
      stores: names(join(own, "sessions", session_id)).filter((name) => name.startsWith("fork-")),
    });
    it.call("session.fork", { message_id, worktree: true }).catch(() => {});
    await until(
      () =>
        names(join(own, "worktrees")).some((name) =>
          names(join(own, "worktrees", name)).includes("f1")
        ),
      "a fork that restores files",
    );
    await it.daemon.kill();
    const { marks, worktrees, branches, stores } = left();
    assertEquals([marks.length, worktrees.length, stores.length], [1, 1, 1]);
    assertStringIncludes(branches, "svc/fork-");
    await it.restart();
    await until(() => left().marks.length === 0, "the end of the fork");
    assertEquals(left(), { marks: [], worktrees: [], branches: "", stores: [] });
    const { sessions } = await it.client.rpc.call("session.list", {}) as { sessions: unknown[] };
    assertEquals(sessions.length, 1);
    assertEquals(treeOf(workdir, WORK), now);
    const fork = await it.call("session.fork", { message_id, worktree: true });
    assertEquals(Object.keys(treeOf(fork.workdir, WORK)).length, 3_000);
  },
});
