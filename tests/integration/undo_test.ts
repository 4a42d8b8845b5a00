/** Turns are taken back: files, conversation or both. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { gitInstalled } from "../support/repository.ts";
import { tinyPng } from "../support/media.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";

const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });
const edit = (path: string, old_text: string, new_text: string) => ({
  calls: [
    { name: "read_file", args: { path } },
    { name: "edit_file", args: { path, old_text, new_text } },
  ],
});

async function errorOf(promise: Promise<unknown>): Promise<SvcError> {
  return await assertRejects(() => promise) as SvcError;
}

/** All files and links of a directory with their content and mode, but `.svc`. */
function treeOf(dir: string, prefix = ""): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const { name } of Deno.readDirSync(dir)) {
    if (name === ".svc") continue;
    const path = join(dir, name);
    const info = Deno.lstatSync(path);
    if (info.isSymlink) tree[prefix + name] = `-> ${Deno.readLinkSync(path)}`;
    else if (info.isDirectory) Object.assign(tree, treeOf(path, `${prefix}${name}/`));
    else {
      const mode = (info.mode! & 0o7777).toString(8);
      tree[prefix + name] = `${mode} ${new TextDecoder("latin1").decode(Deno.readFileSync(path))}`;
    }
  }
  return Object.fromEntries(Object.entries(tree).sort());
}

Deno.test({
  name: "changes of tools and of commands are shown and undone, and the undoing is undone",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      edit("a.txt", "one", "two"),
      { text: "Edited." },
      run(
        "rm gone.txt; printf 'x\\000y' >new.bin; mkdir -p deep/er; echo hi >deep/er/f; " +
          "chmod 755 a.txt; ln -sf b.txt link; echo secret >own; chmod 600 own",
      ),
      { text: "Ran." },
      { text: "Nothing." },
    ]);
    const { workdir } = it;
    const put = (name: string, text: string) => Deno.writeTextFileSync(join(workdir, name), text);
    put("a.txt", "one\n");
    put("b.txt", "b\n");
    put("gone.txt", "gone\n");
    Deno.chmodSync(join(workdir, "gone.txt"), 0o640);
    Deno.symlinkSync("a.txt", join(workdir, "link"));
    const first = treeOf(workdir);
    const { message_id } = await it.send("first");
    await it.event("turn.completed");
    const second = treeOf(workdir);
    await it.turn("second");
    const third = treeOf(workdir);
    const reading = it.client.of("files.kept").length;
    await it.turn("third");
    assertEquals(it.client.of("files.kept").length, reading, "a turn that reads keeps nothing");

    const changes = await it.call("session.changes");
    assertEquals(
      changes.turns.map(({ files_changed }: { files_changed: number }) => files_changed),
      [
        1,
        6,
      ],
    );
    const kinds = changes.files.map(({ path, change }: Record<string, string>) =>
      `${change} ${path}`
    );
    assertEquals(kinds.sort(), [
      "added deep/er/f",
      "added new.bin",
      "added own",
      "changed a.txt",
      "changed link",
      "deleted gone.txt",
    ]);
    assertStringIncludes(changes.patch, "-one\n+two\n");
    assertStringIncludes(changes.patch, "new mode 100755");
    assertEquals([changes.others, changes.truncated, changes.problem], [[], false, undefined]);

    const back = await it.call("session.rewind");
    assertEquals(back.files_changed, 6);
    assertEquals(treeOf(workdir), second);
    assertEquals((await it.call("session.rewind")).message_id, message_id);
    assertEquals(treeOf(workdir), first);
    const none = await errorOf(it.call("session.rewind"));
    assertEquals(none.code, "not_found");
    await it.call("session.rewind", { undo: true });
    assertEquals(treeOf(workdir), second);
    await it.call("session.rewind", { undo: true });
    assertEquals(treeOf(workdir), third);
    assertEquals((await errorOf(it.call("session.rewind", { undo: true }))).code, "not_found");
    await it.call("session.rewind", { message_id });
    assertEquals(treeOf(workdir), first);
    assertEquals((await it.call("session.changes")).files, []);
  },
});

Deno.test({
  name: "what somebody else changed since is not overwritten, unless it is forced",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("echo model >a; echo model >b"),
      { text: "Done." },
      run("echo more >c"),
      { text: "Done." },
    ]);
    const { workdir } = it;
    const put = (name: string, text: string) => Deno.writeTextFileSync(join(workdir, name), text);
    put("a", "old\n");
    const { message_id } = await it.send("go");
    await it.event("turn.completed");
    put("b", "mine\n");
    put("other", "mine\n");
    const others = treeOf(workdir);
    assertEquals((await it.call("session.changes")).others, ["b", "other"]);
    const error = await errorOf(it.call("session.rewind"));
    assertEquals(error.code, "conflict");
    assertEquals(error.details, { files: ["b", "other"], files_changed: 2 });
    assertEquals(treeOf(workdir), others);
    await it.call("session.rewind", { force: true });
    assertEquals(Object.keys(treeOf(workdir)), ["a"]);
    await it.call("session.rewind", { undo: true });
    assertEquals(treeOf(workdir), others);

    // A later turn does not make it the model's.
    await it.turn("more");
    const later = await errorOf(it.call("session.rewind", { message_id }));
    assertEquals(later.details, { files: ["b", "other"], files_changed: 2 });
    await it.call("session.rewind");
    assertEquals(treeOf(workdir), others);

    // What no state has cannot come back, so it is not overwritten even by force.
    Deno.removeSync(join(workdir, "other"));
    await it.call("session.rewind", { message_id, force: true });
    assertEquals(treeOf(workdir), { a: others.a.replace("model", "old") });
    put(".gitignore", "b\n");
    assertEquals((await it.call("session.changes")).others, [".gitignore"]);
    put("b", "ignored\n");
    const kept = await errorOf(it.call("session.rewind", { undo: true, force: true }));
    assertEquals([kept.code, kept.details], ["conflict", { files: ["b"], files_changed: 1 }]);
    assertEquals(Deno.readTextFileSync(join(workdir, "b")), "ignored\n");
  },
});

Deno.test({
  name: "the conversation goes back: the model is sent byte for byte what it was sent then",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { text: "One." },
      run("echo x >x"),
      { text: "Two." },
      { text: "Two again." },
      { text: "Three." },
    ]);
    await it.turn("first");
    const { message_id } = await it.send("second");
    await it.event("turn.completed", ({ data }) => data.message === "Two.");
    const before = await it.call("session.get");
    await it.call("session.rewind", { what: "both" });
    assert(!Object.hasOwn(treeOf(it.workdir), "x"));
    const { messages } = await it.call("session.transcript");
    assertEquals(messages.map(({ text }: { text: string }) => text), ["first", "One."]);
    const after = await it.call("session.get");
    assertEquals([after.messages_count, after.tokens_in], [2, before.tokens_in]);

    const asked = it.asked.length;
    await it.turn("second");
    assertEquals(it.asked[asked], it.asked[1]);
    const [one, two] = [1, asked].map((n) => it.server.requests[n].body);
    assertEquals(JSON.stringify(two), JSON.stringify(one));

    await it.daemon.stop();
    it.daemon = await it.place.serve();
    it.client = await it.daemon.rpc();
    await it.client.rpc.call("session.subscribe", { session_id: it.session_id });
    await it.turn("third");
    const said = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(said, ["first", "second", "third"]);
    const gone = await errorOf(it.call("session.rewind", { message_id, what: "both" }));
    assertEquals(gone.code, "not_found");
  },
});

Deno.test({
  name: "a fork goes on from a message in a session of its own, over a restart too",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { text: "One." },
      run("echo x >x"),
      { text: "Two." },
      { text: "Two in the fork." },
      { text: "Three in the fork." },
    ]);
    await it.turn("first");
    const { message_id } = await it.send("second");
    await it.event("turn.completed", ({ data }) => data.message === "Two.");
    const fork = await it.call("session.fork", { message_id, title: "another way" });
    assertEquals([fork.workdir, fork.title], [it.workdir, "another way"]);
    const { session_id } = fork;
    const { rpc } = it.client;
    const made = await rpc.call("session.get", { session_id });
    assertEquals([made.messages_count, made.cost_usd, made.tokens_in], [2, 0, 0]);
    assertEquals([made.approval, made.model, made.activity], ["auto", it.model, "idle"]);
    await rpc.call("session.subscribe", { session_id, since_seq: made.last_seq });
    await it.client.turn(session_id, "second");
    const [one, two] = [1, 3].map((n) => it.server.requests[n].body);
    assertEquals(JSON.stringify(two), JSON.stringify(one));
    assertEquals((await it.call("session.transcript")).messages.length, 6);

    await it.daemon.stop();
    it.daemon = await it.place.serve();
    it.client = await it.daemon.rpc();
    await it.client.rpc.call("session.subscribe", { session_id });
    await it.client.turn(session_id, "third");
    const said = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(said, ["first", "second", "third"]);
    assertEquals((await it.client.rpc.call("ledger.verify", { session_id })).ok, true);
    const own = await it.client.rpc.call("session.fork", { session_id });
    assertStringIncludes(own.title, "another way (fork)");
  },
});

Deno.test({
  name: "a repository in the middle of a merge is left as it is, and what is not kept is named",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("echo changed >a; echo mine >ignored.log; head -c 11000000 /dev/zero >big; mkfifo pipe"),
      { text: "Done." },
      run("until test -e go; do sleep 0.05; done"),
      { text: "Done." },
    ]);
    const { workdir } = it;
    const git = (line: string) => {
      const args = ["-c", `git -c user.name=a -c user.email=a@b.invalid ${line}`];
      const { success } = new Deno.Command("sh", { args, cwd: workdir, stderr: "null" })
        .outputSync();
      return success;
    };
    const put = (name: string, text: string) => Deno.writeTextFileSync(join(workdir, name), text);
    assert(git("init -q -b main ."));
    put(".gitignore", "*.log\n");
    put("a", "base\n");
    assert(git("add -A") && git("commit -qm base") && git("checkout -q -b other"));
    put("a", "theirs\n");
    assert(git("commit -qam theirs") && git("checkout -q main"));
    put("a", "ours\n");
    assert(git("commit -qam ours"));
    assert(!git("merge other"), "the merge has a conflict");
    Deno.mkdirSync(join(workdir, "nested"));
    assert(git("-C nested init -q"));
    put("nested/f", "f\n");
    const before = [treeOf(join(workdir, ".git")), Deno.readTextFileSync(join(workdir, "a"))];
    await it.turn("go");
    const changes = await it.call("session.changes");
    assertEquals(changes.files.map(({ path }: { path: string }) => path), ["a"]);
    const left_out = changes.excluded.map(({ path, reason }: Record<string, string>) =>
      `${reason} ${path}`
    );
    assertEquals(left_out.sort(), ["ignored ignored.log", "repository nested/", "size big"]);
    await it.call("session.rewind");
    assertEquals(
      [treeOf(join(workdir, ".git")), Deno.readTextFileSync(join(workdir, "a"))],
      before,
    );
    assertEquals(Deno.readTextFileSync(join(workdir, "ignored.log")), "mine\n");
    assertEquals(Deno.statSync(join(workdir, "big")).size, 11_000_000);

    await it.send("wait");
    await it.event("session.tool_started", ({ data }) => data.args.command.startsWith("until"));
    for (const params of [{ undo: true }, { what: "conversation" }]) {
      const error = await errorOf(it.call("session.rewind", params));
      assertEquals(error.code, "conflict");
    }
    put("go", "");
  },
});

Deno.test({
  name: "without git the person is told once, and the verbs say that undo is unavailable",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("echo one >one"),
      { text: "Done." },
      run("echo two >two"),
      { text: "Done." },
    ], { env: { PATH: "/nonexistent" } });
    await it.turn("one");
    await it.turn("two");
    const notes = it.client.of("lane.note").map(({ data }) => data.text);
    assertEquals(notes.length, 1);
    assertStringIncludes(notes[0], "cannot be undone: undo needs git");
    const changes = await it.call("session.changes");
    assertStringIncludes(changes.problem, "needs git");
    assertEquals((await errorOf(it.call("session.rewind"))).code, "unavailable");
    await it.call("session.rewind", { what: "conversation" });
    assertEquals((await it.call("session.transcript")).messages.length, 4);
  },
});

Deno.test({
  name: "setuid, setgid and sticky bits do not come back, other permissions do",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("rm f g; chmod 640 h"),
      { text: "Done." },
    ]);
    const modes: Record<string, number> = { f: 0o4755, g: 0o2711, h: 0o1604 };
    for (const [name, mode] of Object.entries(modes)) {
      Deno.writeTextFileSync(join(it.workdir, name), name);
      Deno.chmodSync(join(it.workdir, name), mode);
    }
    await it.turn("go");
    await it.call("session.rewind");
    const now = Object.keys(modes).map((name) =>
      Deno.statSync(join(it.workdir, name)).mode! & 0o7777
    );
    assertEquals(now.map((mode) => mode.toString(8)), ["755", "711", "604"]);
  },
});

Deno.test({
  name: "a turn that was cut off and then taken back does not go on",
  ignore,
  async fn() {
    const half = { text: ["One ", "two "], hang_after: 2 };
    const steps = [{ text: "Hi." }, half, { text: "Well." }];
    const toml = '[agent]\ncontinue = "ask"\n';
    await using it = await Scenario.begin(steps, { toml });
    await it.turn("first");
    await it.send("count");
    await it.event("session.delta", ({ data }) => (data.text as string).includes("two "));
    await it.restart();
    assertEquals((await it.call("session.get")).cut_off, true);
    await it.call("session.rewind", { what: "conversation" });
    assertEquals((await it.call("session.get")).cut_off, false);
    assertEquals((await errorOf(it.call("session.continue"))).code, "conflict");
    await it.turn("something else");
    const said = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(said, ["first", "something else"]);
  },
});

Deno.test({
  name: "a fork has the images of its conversation, also when the first session is gone",
  ignore,
  async fn() {
    const steps = [{ text: "Red." }, { text: "Still red." }];
    await using it = await Scenario.begin(steps, { toml: "images = true\n" });
    const attachments = [{ data: tinyPng().toBase64() }];
    await it.call("session.send", { text: "what is this?", attachments });
    await it.event("turn.completed");
    const { session_id } = await it.call("session.fork");
    const dir = join(it.workdir, ".svc", "sessions", it.session_id);
    Deno.removeSync(join(dir, "attachments"), { recursive: true });
    await it.client.rpc.call("session.subscribe", { session_id });
    await it.client.turn(session_id, "and now?");
    assertStringIncludes(JSON.stringify(it.server.requests[1].body), attachments[0].data);
  },
});
