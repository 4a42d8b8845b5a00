/** What a session changed, file by file, and what its checkout has not committed. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";

import { join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { hasProgram } from "../support/programs.ts";
import { Repository } from "../support/repository.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !hasProgram("git");

const write = (path: string, content: string) => ({ name: "write_file", args: { path, content } });
const run = (command: string) => ({ name: "run_command", args: { command } });

Deno.test({
  name: "a file's lines are told apart by turn, also while a turn runs and after a restart",
  ignore,
  async fn() {
    const wait = "until test -e go; do sleep 0.05; done";
    await using it = await Scenario.begin([
      { calls: [write("a.txt", "one\ntwo\nthree\n")] },
      { text: "done" },
      {
        calls: [write("a.txt", "one\n2\nthree\nfour\n"), run("mv big.txt moved.txt; rm gone.txt")],
      },
      { calls: [run(wait)] },
      { text: "done again" },
    ]);
    const big = Array.from({ length: 50 }, (_, n) => `line ${n}`).join("\n");
    Deno.writeTextFileSync(join(it.workdir, "big.txt"), big);
    Deno.writeTextFileSync(join(it.workdir, "gone.txt"), "so long\n");
    await it.turn("first");
    const first = await it.call("session.changed_file", { path: "a.txt" });
    assertEquals(first.kind, "text");
    assertEquals(first.hunks, [{ old_line: 0, new_line: 1, removed: [], added: 3 }]);
    const second = it.turn("second");
    await it.event("session.tool_started", ({ data }) =>
      JSON.stringify(data).includes("until test"));

    const running = await it.call("session.changes");
    assertEquals(
      running.files.map(({ path, change, renamed_from }: Record<string, string>) => [
        path,
        change,
        renamed_from,
      ]),
      [
        ["a.txt", "added", undefined],
        ["big.txt", "deleted", undefined],
        ["gone.txt", "deleted", undefined],
        ["moved.txt", "added", "big.txt"],
      ],
    );
    assertEquals(running.others, []);
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await second;
    for (const restarted of [false, true]) {
      if (restarted) await it.restart();
      const { turns } = await it.call("session.changes");
      const turn_id = turns.at(-1).turn_id;
      const file = await it.call("session.changed_file", { path: "a.txt", turn_id });
      assertEquals(file.text, "one\n2\nthree\nfour\n");
      assertEquals(file.hunks, [
        { old_line: 2, new_line: 2, removed: ["two"], added: 1 },
        { old_line: 3, new_line: 4, removed: [], added: 1 },
      ]);
      const gone = await it.call("session.changed_file", { path: "gone.txt" });
      assertEquals([gone.kind, gone.text, gone.hunks[0].removed], ["text", "", ["so long"]]);
      const moved = await it.call("session.changed_file", {
        path: "moved.txt",
        renamed_from: "big.txt",
      });
      assertEquals([moved.kind, moved.text, moved.hunks], ["text", big, []]);
      const none = await it.call("session.changed_file", { path: "../../etc/passwd" });
      assertEquals([none.kind, none.text], ["gone", ""]);
    }
  },
});

Deno.test({
  name: "what is not committed is listed without writing to the repository, and committed in parts",
  ignore,
  async fn() {
    using repository = new Repository({
      "a.txt": "one\ntwo\n",
      "b.txt": "b\n",
      "picture.bin": "\0\x01",
      "deep/c.txt": "c\n".repeat(40),
    });
    await using it = await Scenario.begin([{ text: "hello" }], {
      start: { workdir: repository.root },
    });
    const { root } = repository;
    repository.write({ "a.txt": "one\n2\n", "new.txt": "new\n", "picture.bin": "\0\x02" });
    repository.git("mv", "deep/c.txt", "deep/d.txt");
    Deno.removeSync(join(root, "b.txt"));
    Deno.symlinkSync("/etc/passwd", join(root, "out"));
    const objects = repository.git("count-objects");
    const listed = await it.call("repository.changes");
    assertEquals([listed.kind, listed.branch, listed.repo], ["checkout", "main", root]);
    assertEquals(
      listed.files.map(({ path, change, added, deleted, renamed_from }: Record<string, unknown>) =>
        [path, change, renamed_from, added, deleted].filter((it) => it !== undefined).join(" ")
      ),
      [
        "a.txt changed 1 1",
        "b.txt deleted 0 1",
        "deep/c.txt deleted 0 40",
        "deep/d.txt added deep/c.txt 0 0",
        "new.txt added",
        "out added",
        "picture.bin changed",
      ],
    );
    const file = (path: string) => it.call("repository.changed_file", { path });
    for (const path of ["../../etc/passwd", "/etc/passwd", "a/../../b", "a\0b"]) {
      const { message } = await file(path).catch((error: Error) => error);
      assertStringIncludes(message, "is not a path within the checkout");
    }
    assertEquals((await file("a.txt")).hunks, [
      { old_line: 2, new_line: 2, removed: ["two"], added: 1 },
    ]);
    assertEquals((await file("b.txt")).hunks[0].removed, ["b"]);
    assertEquals((await file("new.txt")).text, "new\n");
    assertEquals((await file("picture.bin")).kind, "binary");
    await assertRejects(() => file("out"), Error, "cannot be read");
    await assertRejects(() => file("../outside"));
    assertEquals(repository.git("count-objects"), objects);

    const { commit } = await it.call("repository.commit", {
      message: "Only a",
      paths: ["a.txt", "new.txt"],
    });
    assertEquals(repository.git("rev-parse", "HEAD"), commit);
    assertEquals(repository.git("show", "--name-only", "--format=%s", "HEAD").split("\n"), [
      "Only a",
      "",
      "a.txt",
      "new.txt",
    ]);
    const rest = await it.call("repository.commit", { message: "The rest" });
    assert(rest.commit !== commit);
    assertEquals(repository.git("status", "--porcelain"), "");
    assertEquals(await it.call("repository.commit", { message: "Nothing" }), {});
    repository.git("checkout", "--quiet", "--detach");
    await assertRejects(
      () => it.call("repository.commit", { message: "Lost" }),
      Error,
      "not on a branch",
    );
  },
});

Deno.test({
  name: "a commit runs no hook of the repository, and refuses during a merge",
  ignore,
  async fn() {
    using repository = new Repository({ "a.txt": "one\n" });
    const { root } = repository;
    const ran = join(root, "..", "ran");
    const hook = join(root, ".git", "hooks", "pre-commit");
    Deno.mkdirSync(join(root, ".git", "hooks"), { recursive: true });
    Deno.writeTextFileSync(hook, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
    // The control: git itself runs it.
    repository.write({ "a.txt": "zwei\n" });
    repository.commit("by git");
    assert(Deno.statSync(ran).isFile);
    Deno.removeSync(ran);
    await using it = await Scenario.begin([{ text: "hello" }], { start: { workdir: root } });
    repository.write({ "a.txt": "three\n" });
    const { commit } = await it.call("repository.commit", { message: "By svc" });
    assertEquals(repository.git("rev-parse", "HEAD"), commit);
    assertEquals([...Deno.readDirSync(join(root, ".."))].some(({ name }) => name === "ran"), false);
    repository.git("switch", "--quiet", "-c", "other", "HEAD~1");
    repository.write({ "a.txt": "four\n" });
    repository.commit("other");
    try {
      repository.git("merge", "--quiet", "main");
    } catch {
      // It conflicts.
    }
    await assertRejects(
      () => it.call("repository.commit", { message: "Half" }),
      Error,
      "merge is not finished",
    );
  },
});

Deno.test({
  name: "a commit takes only what was looked at, and leaves the rest of the index as it is",
  ignore,
  async fn() {
    const names = ["a.txt", "b.txt", "gone.txt", "staged.txt"];
    using repository = new Repository(Object.fromEntries(names.map((it) => [it, "one\n"])));
    const { root } = repository;
    await using it = await Scenario.begin([{ text: "hello" }], { start: { workdir: root } });
    const commit = (paths: string[], versions?: Record<string, string>) =>
      it.call("repository.commit", { message: "Chosen", paths, versions });
    const head = repository.git("rev-parse", "HEAD");
    repository.write({ "staged.txt": "staged\n" });
    repository.git("add", "staged.txt");
    repository.git("rm", "--quiet", "gone.txt");
    repository.write({
      "a.txt": "two\n",
      "b.txt": "two\n",
      "staged.txt": "later\n",
      ":b": "new\n",
    });
    const { files } = await it.call("repository.changes");
    const versions = Object.fromEntries(
      files.map(({ path, version = "" }: Record<string, string>) => [path, version]),
    );
    const of = (...paths: string[]) => Object.fromEntries(paths.map((it) => [it, versions[it]]));

    repository.write({ "b.txt": "six\n", "gone.txt": "back\n" });
    await assertRejects(() => commit(["a.txt", "b.txt"], of("a.txt", "b.txt")), Error, "b.txt");
    await assertRejects(() => commit(["gone.txt"], of("gone.txt")), Error, "changed since");
    for (
      const path of [".", "", "..", ".svc", ".SVC/x", join(root, "a.txt"), "./a.txt", ".git/x"]
    ) {
      await assertRejects(() => commit([path]), Error, undefined, path);
    }
    assertEquals(repository.git("rev-parse", "HEAD"), head);

    Deno.removeSync(join(root, "gone.txt"));
    const chosen = ["a.txt", "gone.txt", ":b"];
    // The control: the same files as they were when they were looked at.
    assert((await commit(chosen, of(...chosen))).commit !== undefined);
    assertEquals(
      repository.git("show", "--name-status", "--format=", "HEAD").split("\n").sort(),
      ["A\t:b", "D\tgone.txt", "M\ta.txt"],
    );
    assertEquals(repository.git("show", ":staged.txt"), "staged");
    assertEquals(repository.git("diff", "--name-only").split("\n"), ["b.txt", "staged.txt"]);

    repository.git("switch", "--quiet", "-c", "other", head);
    repository.git("reset", "--quiet", "--hard");
    repository.write({ "a.txt": "three\n" });
    const picked = repository.commit("picked");
    repository.git("switch", "--quiet", "main", "--discard-changes");
    try {
      repository.git("cherry-pick", picked);
    } catch {
      // It conflicts.
    }
    repository.git("add", "a.txt");
    await assertRejects(() => commit(["b.txt"]), Error, "cherry-pick is not finished");
  },
});

Deno.test({
  name: "nothing that a repository or its submodule configures runs when its changes are shown",
  ignore,
  async fn() {
    using repository = new Repository({ "a.txt": "one\ntwo\nthree\n", "b.md": "b\n" });
    const { root } = repository;
    const ran = join(root, "ran");
    using inner = new Repository({ "i.txt": "one\n" });
    const allow = ["-c", "protocol.file.allow=always"];
    repository.git(...allow, "submodule", "--quiet", "add", inner.root, "sub");
    repository.write({ ".gitattributes": "* diff=evil filter=evil\n" });
    repository.commit("with a submodule");
    const sub = join(root, "sub");
    repository.write({ "i.txt": "two\n" }, sub);
    repository.gitAt(sub, "commit", "--quiet", "--all", "-m", "two");
    const program = join(root, "..", "evil.sh");
    Deno.writeTextFileSync(program, `#!/bin/sh\necho "$0 $*" >>${ran}\ncat "$1" 2>/dev/null\n`, {
      mode: 0o755,
    });
    const config = {
      "core.fsmonitor": program,
      "core.editor": program,
      "core.pager": program,
      "diff.external": program,
      "diff.evil.textconv": program,
      "diff.evil.command": program,
      "filter.evil.clean": program,
      "filter.evil.process": program,
      "gpg.program": program,
      "commit.gpgSign": "true",
      "core.hooksPath": join(root, ".."),
      "alias.status": `!${program}`,
      "alias.diff": `!${program}`,
      "diff.submodule": "diff",
      "diff.interHunkContext": "50",
      "status.submoduleSummary": "true",
      "core.worktree": "/etc",
    };
    for (const at of [root, sub]) {
      for (const [key, value] of Object.entries(config)) {
        if (at === sub && key === "core.worktree") continue;
        repository.gitAt(at, "config", "--local", key, value);
      }
    }
    Deno.symlinkSync(program, join(root, "..", "pre-commit"));
    repository.write({ "a.txt": "1\ntwo\n3\n", "b.md": "B\n", "-x": "x\n", "new\nline": "n\n" });
    // The control: a plain git runs them, and those of the submodule.
    for (const words of [["diff"], ["diff", "--no-ext-diff", "--no-textconv", "--", "sub"]]) {
      try {
        repository.git(`--git-dir=${root}/.git`, `--work-tree=${root}`, ...words);
      } catch {
        // The filter says nothing that git understands.
      }
    }
    assert(Deno.statSync(ran).isFile);
    Deno.removeSync(ran);

    await using it = await Scenario.begin([{ text: "hello" }], { start: { workdir: root } });
    const listed = await it.call("repository.changes");
    const paths = listed.files.map(({ path }: { path: string }) => path);
    assertEquals(paths, ["-x", "a.txt", "b.md", "new\nline", "sub"]);
    const texts = [];
    for (const path of paths) {
      texts.push(await it.call("repository.changed_file", { path }).catch(String));
    }
    assertEquals(texts[1].hunks.map(({ removed }: { removed: string[] }) => removed), [
      ["one"],
      ["three"],
    ]);
    assertEquals([texts[0].text, texts[3].text], ["x\n", "n\n"]);
    await it.call("repository.commit", { message: "Ours", paths: ["-x", "a.txt", "new\nline"] });
    assertEquals(repository.git("log", "-1", "--format=%s %G?"), "Ours N");
    assert(!paths.includes("ran") && !exists(ran), "a program ran");
  },
});
