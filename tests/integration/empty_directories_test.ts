/** Empty directories come and go with a rewind, as files do. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled, Repository } from "../support/repository.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";

const run = (command: string) => [
  { calls: [{ name: "run_command", args: { command } }] },
  { text: "Done." },
];

const AT_FIRST =
  "mkdir -p was/deep filled left/only build/out; echo 1 >left/file; echo o >build/x.o;" +
  "echo '*.o\nout/' >.gitignore; mkdir -p new/inside; echo 1 >new/file";

/** Files, and directories without anything in them, which have a slash at the end. */
function namesIn(dir: string, prefix = ""): string[] {
  const entries = [...Deno.readDirSync(join(dir, prefix))].sort((a, b) => a.name < b.name ? -1 : 1);
  if (prefix !== "" && entries.length === 0) return [prefix];
  return entries.flatMap(({ name, isDirectory }) => {
    if (prefix === "" && [".svc", ".git"].includes(name)) return [];
    return isDirectory ? namesIn(dir, `${prefix}${name}/`) : [prefix + name];
  });
}

function sh(cwd: string, script: string): void {
  const { success, stderr } = new Deno.Command("sh", { args: ["-ec", script], cwd }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Lets a turn run to its end. @returns its message */
async function turn(it: Scenario, text: string): Promise<string> {
  const ended = it.client.of("turn.completed").length;
  const { message_id } = await it.send(text);
  await it.event("turn.completed", () => it.client.of("turn.completed").length > ended);
  return message_id;
}

Deno.test({
  name: "a rewind brings empty directories back and removes new ones; undo does the opposite",
  ignore,
  async fn() {
    await using it = await Scenario.begin(
      run(
        "rmdir was/deep was; mkdir -p made/by/it; echo 1 >filled/file; rm -r left new; rmdir build/out",
      ),
    );
    const { workdir } = it;
    sh(workdir, AT_FIRST);
    const before = namesIn(workdir);
    await it.turn("go");
    const after = namesIn(workdir);
    assertEquals(after, [".gitignore", "build/x.o", "filled/file", "made/by/it/"]);
    Deno.mkdirSync(join(workdir, "of a person"));
    await it.restart();

    const expected = {
      refused: false,
      files: [
        "filled/file",
        "left/file",
        "new/file",
        "made/by/it/",
        "left/only/",
        "new/inside/",
        "was/deep/",
      ],
      files_changed: 7,
      files_deleted: 2,
      kept: [],
    };
    const preview = await it.call("session.rewind", { dry_run: true });
    const { refused, files, files_changed, files_deleted, kept } = preview;
    assertEquals({ refused, files, files_changed, files_deleted, kept }, expected);
    await it.call("session.rewind");
    // What git ignores comes back as little as its files do.
    const back = before.filter((name) => name !== "build/out/");
    assertEquals(namesIn(workdir), [...back, "of a person/"].sort());
    const { files: changed, others } = await it.call("session.changes");
    assertEquals([changed, others], [[], []]);

    await it.call("session.rewind", { undo: true });
    assertEquals(namesIn(workdir), [...after, "of a person/"].sort());
    await it.call("session.rewind", { force: true });
    assertEquals(namesIn(workdir), back);
  },
});

Deno.test({
  name:
    "a turn that only makes a directory is undone, and a fork's worktree has those of its state",
  ignore,
  async fn() {
    using repo = new Repository();
    await using it = await Scenario.begin([...run("mkdir -p x/y"), ...run("rmdir x/y")], {
      start: { workdir: repo.root },
    });
    const { root } = repo;
    Deno.mkdirSync(join(root, "before"));
    const at_first = namesIn(root);
    const first = await turn(it, "one");
    const one = namesIn(root);
    const second = await turn(it, "two");
    const { workdir } = await it.call("session.fork", {
      message_id: second,
      worktree: true,
    });
    assertEquals(namesIn(workdir), one);
    assertEquals(one, [...at_first, "x/y/"].sort());
    await it.call("session.rewind", { message_id: second, what: "files" });
    assertEquals(namesIn(root), one);
    const done = await it.call("session.rewind", { message_id: first });
    assertEquals([done.files, done.files_deleted], [["x/y/"], 1]);
    assertEquals(namesIn(root), at_first);
    assertEquals(repo.git("status", "--porcelain"), "");
  },
});
