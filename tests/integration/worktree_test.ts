import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { delay } from "@std/async";
import { join } from "@std/path";
import { gitInstalled, Repository } from "../support/repository.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled();
const MODEL = { model: "builtin/toolbelt", approval: "auto" };

/** Carries out one instruction in a session; gives how its call ended. */
async function instruct(client: TestClient, session_id: string, text: string) {
  const { seq } = await client.turn(session_id, text);
  const call = client.events.findLast((event) =>
    event.session_id === session_id && event.type === "session.tool_completed" && event.seq < seq
  );
  return call!.data as { ok: boolean; output: string };
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => promise, Error)).message;
}

Deno.test({
  name: "worktrees over the socket: made, worked in by a session, merged, removed",
  ignore,
  async fn() {
    await using place = new Place();
    using repo = new Repository();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const call = (verb: string, params = {}) =>
      client.rpc.call(`worktree.${verb}`, { workdir: repo.root, ...params });

    const { path, branch, base_commit } = await call("create", { name: "task" });
    assertEquals([branch, base_commit], ["svc/task", repo.git("rev-parse", "HEAD")]);
    const session_id = await client.session({ workdir: path, ...MODEL });
    await instruct(client, session_id, "write b.txt\n```\nb\n```");
    const diff = await call("diff", { name: "task" });
    assertEquals(diff.files, [{ path: "b.txt", added: 1, deleted: 0 }]);
    assertStringIncludes(await refusal(call("clean", { name: "task", force: true })), session_id);
    const merged = await call("merge", { name: "task", message: "Add b" });
    assertEquals(merged, { merged: true, commit: repo.git("rev-parse", "HEAD") });
    assertEquals(repo.git("show", "-s", "--format=%s"), "Add b");
    assertEquals(Deno.readTextFileSync(join(repo.root, "b.txt")), "b\n");
    await client.rpc.call("session.kill", { session_id });
    assertEquals(await call("clean", { name: "task" }), { name: "task" });
    assertEquals(await call("list"), { worktrees: [] });
    // Its journal went with the directory; nothing of it is left to be found unreadable.
    const { sessions } = await client.rpc.call("session.list", { include_ended: true });
    assertEquals(sessions, []);

    const own = await client.session({ workdir: repo.root, ...MODEL });
    const by_session = (params: Record<string, unknown>) =>
      client.rpc.call("worktree.create", { session_id: own, ...params });
    assertEquals((await by_session({ name: "two" })).branch, "svc/two");
    assertStringIncludes(await refusal(by_session({ name: "../x" })), "not a valid name");
    assertStringIncludes(await refusal(call("create", { session_id: own })), "name");
    assertStringIncludes(
      await refusal(client.rpc.call("worktree.list", { session_id: own, workdir: repo.root })),
      "either",
    );
    assertStringIncludes(
      await refusal(client.rpc.call("worktree.list", { workdir: place.mkdir("plain") })),
      "git repository",
    );
    assertStringIncludes(
      await refusal(client.rpc.call("worktree.list", { workdir: place.home })),
      "home of svc",
    );
  },
});

Deno.test({
  name: "a session in a worktree reads the repository's history and reaches nothing else of it",
  ignore: ignore || !has_bubblewrap,
  async fn() {
    await using place = new Place();
    using repo = new Repository({ "a.txt": "one\n", "secret.txt": "of the main checkout\n" });
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const outer = await client.session({ workdir: repo.root, ...MODEL });
    repo.write({ "uncommitted.txt": "uncommitted-secret\n" });
    const make = (name: string) => client.rpc.call("worktree.create", { workdir: repo.root, name });
    const [one, two] = [await make("one"), await make("two")];
    const id = await client.session({ workdir: one.path, ...MODEL });
    const other = await client.session({ workdir: two.path, ...MODEL });
    const run = (command: string) => instruct(client, id, `run ${command}`);

    await instruct(client, id, "edit a.txt\n```\none\n```\n```\ntwo\n```");
    assertEquals((await run("git log --format=%s")).output.trim(), "first");
    assertEquals((await run("git status --porcelain")).output.trim(), "M a.txt");
    assertStringIncludes((await run("git diff")).output, "+two");
    assertStringIncludes((await run("git blame -s a.txt")).output, "two");

    const git_dir = join(repo.root, ".git");
    const config = Deno.readTextFileSync(join(git_dir, "config"));
    for (
      const command of [
        "git commit -qam mine",
        "git config core.fsmonitor ./evil",
        `sh -c 'echo evil > ${git_dir}/hooks/post-checkout'`,
        `rm -rf ${git_dir}/objects`,
        "git update-ref -d refs/heads/main",
        `mv ${git_dir} ${git_dir}.old`,
      ]
    ) assertEquals((await run(command)).ok, false, command);
    assertEquals(Deno.readTextFileSync(join(git_dir, "config")), config);
    assertEquals(repo.git("fsck"), "");

    for (
      const path of [
        join(repo.root, "uncommitted.txt"),
        join(two.path, "a.txt"),
        ...[outer, id, other].map((session, index) =>
          join([repo.root, one.path, two.path][index], ".svc/sessions", session, "journal.ndjson")
        ),
      ]
    ) {
      const { ok, output } = await run(`cat ${path}`);
      assertEquals(ok, false, `${path}: ${output}`);
    }
    // What it says of its repository is not believed.
    await run(`sh -c 'echo gitdir: ${place.home} > .git'`);
    assertEquals((await run(`cat ${join(place.home, "daemon.json")}`)).ok, false);
    assertEquals((await run(`git --git-dir=${git_dir} log --format=%s`)).output.trim(), "first");
    const seen = await instruct(client, outer, "run ls -A .svc; cat .svc/worktrees/*/a.txt");
    assert(!seen.output.includes("one") && !seen.ok, seen.output);
  },
});

Deno.test({
  name: "a daemon that is killed in the middle of a merge leaves the checkout whole",
  ignore,
  async fn() {
    await using place = new Place();
    using repo = new Repository();
    const daemon = await place.serve();
    const client = await daemon.rpc();
    const { path } = await client.rpc.call("worktree.create", {
      workdir: repo.root,
      name: "task",
    });
    repo.write(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`d/${n}`, "x"])), path);
    const merging = client.rpc.call("worktree.merge", { workdir: repo.root, name: "task" });
    merging.catch(() => {});
    await until(() => exists(join(repo.root, "d")));
    await daemon.kill();
    await client[Symbol.asyncDispose]();
    // Git goes on without it; it may also have been done already.
    const tip = repo.git("rev-parse", "svc/task");
    await until(() => repo.git("rev-parse", "HEAD") === tip);
    assertEquals(repo.git("status", "--porcelain"), "");
  },
});

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !holds(); await delay(5)) {
    if (Date.now() > end) throw new Error("it did not come in 20 s");
  }
}
