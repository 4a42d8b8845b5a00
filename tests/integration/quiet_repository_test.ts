/** What svc does by itself writes nothing below `.git`; only a session's commands may. */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { gitInstalled, Repository } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os !== "linux";

const write = (content: string) => [
  { calls: [{ name: "write_file", args: { path: "new", content } }] },
  { text: "Done." },
];

/** Collects what is made, changed or removed below a directory. */
function watch(dir: string) {
  const seen = new Set<string>();
  const watcher = Deno.watchFs(dir, { recursive: true });
  const ended = (async () => {
    for await (const { kind, paths } of watcher) {
      if (kind !== "access" && kind !== "any") seen.add(`${kind} ${paths}`);
    }
  })();
  return {
    seen,
    async [Symbol.asyncDispose]() {
      watcher.close();
      await ended;
    },
  };
}

Deno.test({
  name: "edits, their states, changes, rewinds and undo of a file write nothing below .git",
  ignore,
  async fn() {
    using repo = new Repository();
    const git_dir = join(repo.root, ".git");
    await using watched = watch(git_dir);
    await using it = await Scenario.begin([...write("1"), ...write("2"), ...write("3")], {
      start: { workdir: repo.root },
    });
    for (const text of ["one", "two", "three"]) await it.turn(text);
    await it.call("session.changes");
    await it.call("session.rewind", { what: "files" });
    await it.call("session.rewind", { undo: true });
    await it.call("session.undo_file", { path: "new" });
    await it.call("session.rewind");
    // What has happened is told within moments; the control shows that it is told.
    await delay(200);
    assertEquals([...watched.seen], []);
    Deno.writeTextFileSync(join(git_dir, "control"), "");
    await until(() => [...watched.seen].some((it) => it.includes("control")), "the control");
  },
});
