/**
 * A git that svc runs for itself waits for what never comes. It ends with the daemon, however that
 * goes, and at its time limit.
 */
import { assert } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled } from "../support/repository.ts";
import { processesWith, until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os !== "linux";

async function pipe(path: string): Promise<void> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  assert(success, `no pipe at ${path}`);
}

/** Has svc run git where `blocks` put a pipe, and kills the daemon while that waits. */
async function killed(
  blocks: (place: Place) => Promise<{ marks: string; work: [string, unknown] }>,
): Promise<void> {
  await using place = new Place();
  const { marks, work } = await blocks(place);
  const before = processesWith(marks);
  const waiting = () => processesWith(marks).filter((pid) => !before.includes(pid));
  const daemon = await place.serve();
  const client = await daemon.rpc();
  try {
    const [method, params] = work;
    const given = method === "session.send"
      ? {
        session_id: await client.session({
          workdir: place.mkdir("project"),
          approval: "auto",
        }),
        text: params,
      }
      : params;
    client.rpc.call(method, given).catch(() => {});
    await until(() => waiting().length > 0, "git waits", 60_000);
    await daemon.kill();
    await until(() => waiting().length === 0, "git has ended with the daemon", 60_000);
  } finally {
    await client[Symbol.asyncDispose]().catch(() => {});
  }
}

Deno.test({
  name: "a git that reads a repository ends with a daemon that is killed",
  ignore,
  fn: () =>
    killed(async (place) => {
      const repo = place.mkdir("repo");
      await new Deno.Command("git", { args: ["init", "-q", repo] }).output();
      Deno.removeSync(join(repo, ".git/HEAD"));
      await pipe(join(repo, ".git/HEAD"));
      return { marks: `-C ${repo}`, work: ["worktree.list", { workdir: repo }] };
    }),
});

Deno.test({
  name: "a git that reads the person's settings ends with a daemon that is killed",
  ignore,
  fn: () =>
    killed(async (place) => {
      await pipe(join(place.env.HOME, ".gitconfig"));
      return { marks: "config --global --includes", work: ["session.send", "run true"] };
    }),
});
