/** A project directory that is renamed, moved or replaced while a session works in it. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { basename, dirname, join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { Scenario } from "../support/scripted.ts";
import { canMount, SmallDisk } from "../support/small_disk.ts";
import { can_run_svc } from "../support/svc.ts";

// Windows does not rename a directory in which a file is open.
const ignore = !can_run_svc || Deno.build.os === "windows";

const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });
const answering = () => ({ text: "Done." });

async function errorOf(promise: Promise<unknown>): Promise<SvcError> {
  return await assertRejects(() => promise, SvcError) as SvcError;
}

/** Has another daemon run, that has all of the session's events. */
async function restart(it: Scenario, stop: "stop" | "kill" = "stop", meanwhile = () => {}) {
  await it.client[Symbol.asyncDispose]();
  await it.daemon[stop]();
  meanwhile();
  it.daemon = await it.place.serve();
  it.client = await it.daemon.rpc();
}

async function follow(it: Scenario) {
  await it.call("session.subscribe", { since_seq: 0 });
}

function moves(it: Scenario) {
  return it.client.of("session.moved").map(({ data }) => [data.from, data.workdir, data.replaced]);
}

async function workdirs({ client }: Scenario): Promise<string[]> {
  const { sessions } = await client.rpc.call("session.list");
  return sessions.map(({ workdir }: { workdir: string }) => workdir);
}

Deno.test({
  name: "a session goes on where its directory was renamed to: files, commands, undo, once said",
  ignore,
  async fn() {
    const steps = [
      { calls: [{ name: "write_file", args: { path: "a.txt", content: "one" } }] },
      { text: "Written." },
      run("pwd; cat a.txt; echo two >b.txt"),
      { text: "Looked." },
      { text: "Again." },
    ];
    await using it = await Scenario.begin(steps);
    await it.turn("first");
    const renamed = `${it.workdir}-renamed`;
    Deno.renameSync(it.workdir, renamed);
    await it.turn("second");
    const outputs = it.client.of("session.tool_completed").map(({ data }) => data.output);
    assertStringIncludes(outputs[1], `${renamed}\n`);
    assertStringIncludes(outputs[1], "one");
    assertEquals(moves(it), [[it.workdir, renamed, undefined]]);
    assertEquals(await workdirs(it), [renamed]);
    assertEquals((await it.call("session.get")).workdir, renamed);
    assertStringIncludes(JSON.stringify(it.asked.at(-1)), `${renamed}`);

    const { files } = await it.call("session.changes");
    assertEquals(files.map(({ path }: { path: string }) => path).sort(), ["a.txt", "b.txt"]);
    await it.call("session.rewind", { what: "files" });
    assertEquals([...Deno.readDirSync(renamed)].map(({ name }) => name).sort(), [".svc", "a.txt"]);

    await restart(it);
    await follow(it);
    await it.turn("third");
    assertEquals(moves(it).length, 1);
    assertEquals(await workdirs(it), [renamed]);
    const { ok } = await it.call("ledger.verify");
    assert(ok);
    const link = Deno.readLinkSync(join(it.place.home, "journals", it.session_id));
    assertEquals(dirname(dirname(dirname(dirname(link)))), renamed);
  },
});

Deno.test({
  name: "a directory that is renamed during a turn: its next call works there, or says it is gone",
  ignore,
  async fn() {
    const write = (path: string) => ({
      calls: [{ name: "write_file", args: { path, content: "one" } }],
    });
    const held = (file: string) => run(`until test -e ${file}; do sleep 0.05; done`);
    const steps = [held("go"), write("a.txt"), { text: "One." }];
    await using it = await Scenario.begin([...steps, held("on"), write("b.txt"), { text: "Two." }]);
    const renamed = `${it.workdir}-renamed`;
    const gone = join(it.place.mkdir("far/away"), "project");
    await it.send("first");
    await it.event("session.tool_started");
    Deno.renameSync(it.workdir, renamed);
    Deno.writeTextFileSync(join(renamed, "go"), "");
    await it.event("turn.completed");
    assertEquals(Deno.readTextFileSync(join(renamed, "a.txt")), "one");
    assertEquals(moves(it), [[it.workdir, renamed, undefined]]);
    await it.send("second");
    await it.event("session.tool_started", ({ data }) => data.args.command?.includes("on;"));
    Deno.renameSync(renamed, gone);
    Deno.writeTextFileSync(join(gone, "on"), "");
    await it.event("turn.completed", ({ data }) => data.message === "Two.");
    const last = it.client.of("session.tool_completed").at(-1)!.data;
    assertEquals([last.tool, last.ok], ["write_file", false]);
    assertMatch(last.output, /directory is no longer at .*project-renamed, and was not found/);
    // Nothing was made at the old paths.
    for (const path of [it.workdir, renamed]) assert(!exists(path), path);
    await it.call("session.move", { workdir: gone });
    assertEquals((await it.call("session.get")).messages_count, 4);
  },
});

Deno.test({
  name: "a directory that was renamed while no daemon ran is found, and once again",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const [one, two] = [`${it.workdir}-1`, join(it.place.mkdir("archive"), "two")];
    await restart(it, "stop", () => Deno.renameSync(it.workdir, one));
    assertEquals(await workdirs(it), [one]);
    await follow(it);
    await it.turn("second");
    // Into a directory beside it, and after a crash.
    Deno.mkdirSync(join(it.place.dir, "beside"));
    await restart(
      it,
      "kill",
      () => Deno.renameSync(one, join(it.place.dir, "beside", basename(one))),
    );
    assertEquals(await workdirs(it), [join(it.place.dir, "beside", basename(one))]);
    // Out of it, under another name, where nobody looks but for svc chat.
    await restart(
      it,
      "stop",
      () => Deno.renameSync(join(it.place.dir, "beside", basename(one)), two),
    );
    const refused = await errorOf(it.send("where?"));
    assertStringIncludes(refused.hint!, `svc ctl sessions move ${it.session_id} DIR`);
    assertNotMatch(`${refused.message} ${refused.hint}`, /disk space|kill|move it back/);
    const { sessions } = await it.client.rpc.call("session.list");
    assertEquals([sessions[0].state, sessions[0].workdir.startsWith(it.place.dir)], [
      "unreadable",
      true,
    ]);
    assertStringIncludes(sessions[0].reason, `svc ctl sessions move ${it.session_id} DIR`);
    const chat = await it.place.svc(["chat", "-c", "-p", "and now?"], { cwd: two });
    assertEquals([chat.code, chat.stdout.trim()], [0, "Done."], chat.stderr);
    assertEquals(await workdirs(it), [two]);
    const { messages } = await it.call("session.transcript");
    const said = messages.filter(({ role }: { role: string }) => role === "user");
    assertEquals(said.map(({ text }: { text: string }) => text), ["first", "second", "and now?"]);
  },
});

Deno.test({
  name: "another directory at the old path is not taken for the session's, and that is said",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const renamed = `${it.workdir}-old`;
    const replace = () => {
      Deno.renameSync(it.workdir, renamed);
      Deno.mkdirSync(it.workdir);
    };
    replace();
    const chat = await it.place.svc(["chat", "-c", "-p", "here?"], { cwd: it.workdir });
    assertEquals([chat.code, chat.stdout], [1, ""]);
    assertStringIncludes(chat.stderr, `no open session in ${it.workdir}`);
    await it.turn("second");
    assertEquals(moves(it), [[it.workdir, renamed, true]]);
    assertEquals([...Deno.readDirSync(it.workdir)], []);
    // One that has a copy of everything, journal included.
    const copy = `${renamed}-copy`;
    const { success } = await new Deno.Command("cp", { args: ["-a", renamed, copy] }).output();
    assert(success);
    Deno.renameSync(renamed, `${renamed}-2`);
    Deno.renameSync(copy, renamed);
    await it.turn("third");
    assertEquals(moves(it)[1], [renamed, `${renamed}-2`, true]);
    // The session's own is gone for good, and the copy is older: nothing goes on in it unsaid.
    await restart(it, "stop", () => Deno.removeSync(`${renamed}-2`, { recursive: true }));
    assertMatch((await errorOf(it.send("lost"))).message, /its directory is not at/);
    Deno.mkdirSync(`${renamed}-2`);
    const cut = await it.place.svc(["chat", "-c", "-p", "here?"], { cwd: `${renamed}-2` });
    assertEquals([cut.code, cut.stdout], [1, ""]);
    assertMatch(cut.stderr, /another directory is at .*-2, without the session's journal/);
  },
});

Deno.test({
  name: "an older copy at the old path gets nothing: neither messages nor half of a journal",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const copy = `${it.workdir}-copy`;
    assert(new Deno.Command("cp", { args: ["-a", it.workdir, copy] }).outputSync().success);
    await it.turn("second");
    const away = join(it.place.mkdir("far/away"), "project");
    Deno.renameSync(it.workdir, away);
    Deno.renameSync(copy, it.workdir);
    const journal = join(it.workdir, ".svc", "sessions", it.session_id, "journal.ndjson");
    const before = Deno.readTextFileSync(journal);
    for (const again of [false, true]) {
      if (again) await restart(it);
      const refused = await errorOf(it.send("lost"));
      assertStringIncludes(refused.hint!, `svc ctl sessions move ${it.session_id} DIR`);
      assertEquals(Deno.readTextFileSync(journal), before);
    }
    // The person names the other one. The older copy is behind the anchor of the ledger.
    await it.call("session.move", { workdir: away });
    assertEquals((await it.call("session.get")).messages_count, 4);
    await restart(it, "stop", () => Deno.removeSync(away, { recursive: true }));
    const move = it.call("session.move", { workdir: it.workdir });
    assertMatch((await errorOf(move)).message, /ends at seq \d+, but its anchor is at seq/);
  },
});

Deno.test({
  name: "a directory that was put back from a copy goes on in its place, and that is said",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const copy = `${it.workdir}-copy`;
    const replace = () => {
      const args = ["-a", it.workdir, copy];
      assert(new Deno.Command("cp", { args }).outputSync().success);
      Deno.removeSync(it.workdir, { recursive: true });
      Deno.renameSync(copy, it.workdir);
    };
    replace();
    await it.turn("second");
    assertEquals(moves(it), [[it.workdir, it.workdir, true]]);
    await restart(it, "stop", replace);
    await follow(it);
    await it.turn("third");
    assertEquals(moves(it).length, 2);
    await restart(it);
    await follow(it);
    await it.turn("fourth");
    assertEquals(moves(it).length, 2);
  },
});

Deno.test({
  name: "sessions in one directory and below it all go on where it was renamed to",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    const below = join(it.workdir, "sub", "deep");
    Deno.mkdirSync(below, { recursive: true });
    const start = (workdir: string) =>
      it.client.session({ workdir, model: it.model, approval: "auto" });
    const others = [await start(it.workdir), await start(below)];
    await it.turn("first");
    const renamed = `${it.workdir}-renamed`;
    Deno.renameSync(it.workdir, renamed);
    for (const id of [others[1], it.session_id, others[0]]) await it.client.turn(id, "second");
    assertEquals((await workdirs(it)).sort(), [renamed, renamed, join(renamed, "sub", "deep")]);
    await restart(it, "stop", () => Deno.renameSync(renamed, it.workdir));
    for (const id of others) {
      await it.client.rpc.call("session.send", { session_id: id, text: "x" });
    }
    assertEquals((await workdirs(it)).sort(), [it.workdir, it.workdir, below]);
    // One that has ended can still be read, in this daemon and the next.
    await it.call("session.kill");
    for (const again of [false, true]) {
      Deno.renameSync(again ? renamed : it.workdir, again ? it.workdir : renamed);
      if (again) await restart(it);
      const { messages } = await it.call("session.transcript");
      assertEquals(messages.length, 4);
      assertEquals((await it.call("session.get")).state, "ended");
    }
  },
});

Deno.test({
  name: "a session that was started through a link is found under the link's new target",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    const link = join(it.place.dir, "link");
    Deno.symlinkSync(it.workdir, link);
    const id = await it.client.session({ workdir: link, model: it.model, approval: "auto" });
    await it.client.turn(id, "first");
    const renamed = join(it.place.mkdir("a/b"), "elsewhere");
    Deno.renameSync(it.workdir, renamed);
    Deno.removeSync(link);
    Deno.symlinkSync(renamed, link);
    const { sessions } = await it.client.rpc.call("session.list", { workdir: link });
    assertEquals(sessions.map(({ id, workdir }: Record<string, string>) => [id, workdir]), [
      [it.session_id, renamed],
      [id, renamed],
    ]);
    await it.client.turn(id, "second");
    // It is moved far away, and a link is left in its place.
    const far = join(it.place.mkdir("far/away"), "project");
    Deno.renameSync(renamed, far);
    Deno.symlinkSync(far, renamed);
    await it.turn("again");
    assertEquals(moves(it).at(-1), [renamed, far, undefined]);
    // A link that alone is renamed moves nothing.
    Deno.renameSync(link, `${link}-2`);
    await it.client.turn(id, "third");
    assertEquals(moves(it).filter(([from]) => from === far), []);
  },
});

Deno.test({
  name: "a directory on another file system is another one until a person says so",
  ignore: ignore || !canMount(),
  async fn() {
    await using it = await Scenario.begin(answering);
    const other = it.place.mkdir("disk");
    using _disk = new SmallDisk(other, 4096);
    {
      await it.turn("first");
      const there = join(other, "project");
      const moved = new Deno.Command("mv", { args: [it.workdir, there] }).outputSync();
      assert(moved.success);
      const refused = await errorOf(it.send("lost"));
      assertStringIncludes(refused.hint!, `svc ctl sessions move ${it.session_id} DIR`);
      const said = await it.place.svc(["ctl", "sessions", "move", it.session_id, there]);
      assertEquals([said.code, said.stderr], [0, ""]);
      assertEquals(said.stdout, `${it.session_id} works in ${there}, before in ${it.workdir}\n`);
      await it.turn("second");
      assertEquals(moves(it), [[it.workdir, there, undefined]]);

      // The same while nothing has the session open, and then a kill.
      await restart(it, "stop", () => {
        assert(new Deno.Command("mv", { args: [there, it.workdir] }).outputSync().success);
      });
      assertStringIncludes((await errorOf(it.send("lost"))).hint!, "svc ctl sessions move");
      assertEquals((await it.call("session.move", { workdir: it.workdir })).from, there);
      await restart(it, "kill");
      await follow(it);
      await it.turn("third");
      assertEquals(moves(it).length, 2);
      assertEquals(it.client.of("user.message").map(({ data }) => data.text), [
        "first",
        "second",
        "third",
      ]);
      await restart(it, "stop");
    }
  },
});

Deno.test({
  name: "session.move takes a session to another directory, with its journal, and back",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("echo here >made.txt"),
      { text: "Made." },
      run("pwd; ls"),
      { text: "Looked." },
      { text: "Back." },
    ]);
    await it.turn("first");
    const other = it.place.mkdir("other");
    Deno.writeTextFileSync(join(other, "theirs.txt"), "");
    assertEquals(await it.call("session.move", { workdir: other }), {
      moved: true,
      workdir: other,
      from: it.workdir,
    });
    assertEquals((await it.call("session.move", { workdir: other })).moved, false);
    await it.turn("second");
    const { output } = it.client.of("session.tool_completed")[1].data;
    assertStringIncludes(output, `${other}\ntheirs.txt`);
    assert(Deno.statSync(join(it.workdir, "made.txt")).isFile);
    assertEquals([...Deno.readDirSync(join(it.workdir, ".svc", "sessions"))], []);
    assert(Deno.statSync(join(other, ".svc", "sessions", it.session_id)).isDirectory);
    // The REST route.
    const path = `/v1/sessions/${it.session_id}/move`;
    const { status, json } = await it.daemon.http("POST", path, { workdir: it.workdir });
    assertEquals([status, json.from], [200, other]);
    await restart(it, "kill");
    await follow(it);
    await it.turn("third");
    assertEquals(moves(it), [[it.workdir, other, undefined], [other, it.workdir, undefined]]);
    assert((await it.call("ledger.verify")).ok);
  },
});

Deno.test({
  name: "session.move refuses with clear words, and changes nothing",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("until test -e go; do sleep 0.05; done"),
      { text: "Done." },
      { calls: [{ name: "run_command", args: { command: "sleep 600", background: true } }] },
      { text: "Started." },
    ]);
    const other = it.place.mkdir("other");
    const refused = async (workdir: string, message: RegExp, code = "validation") => {
      const error = await errorOf(it.call("session.move", { workdir }));
      assertMatch(error.message, message);
      assertEquals(error.code, code);
    };
    await it.send("first");
    await it.event("session.tool_started");
    await refused(other, /is at work/, "conflict");
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await it.event("turn.completed");
    await refused(join(it.place.dir, "missing"), /does not exist/);
    await refused("relative", /is not absolute/);
    Deno.writeTextFileSync(join(it.place.dir, "file"), "");
    await refused(join(it.place.dir, "file"), /is not a directory/);
    await refused(it.place.home, /inside the home of svc/);
    const second = await it.client.rpc.call("session.start", { workdir: other });
    const own = join(other, ".svc", "sessions", second.session_id);
    await refused(own, /svc keeps files of sessions there/);
    // An older copy of the journal is not taken for it.
    const copy = join(it.place.dir, "copy");
    const args = ["-a", it.workdir, copy];
    assert(new Deno.Command("cp", { args }).outputSync().success);
    const journal = join(copy, ".svc", "sessions", it.session_id, "journal.ndjson");
    const lines = Deno.readTextFileSync(journal).trimEnd().split("\n");
    Deno.writeTextFileSync(journal, lines.slice(0, -1).join("\n") + "\n");
    await refused(copy, /is not the journal of session .*: it has other records/, "conflict");
    const unknown = "sess_00000000000000000000000000";
    const nobody = it.client.rpc.call("session.move", { session_id: unknown, workdir: other });
    assertEquals((await errorOf(nobody)).code, "not_found");
    const untrusted = await it.client.rpc.call("session.start", {
      workdir: other,
      trust: "untrusted",
    });
    const { session_id } = untrusted;
    const move = it.client.rpc.call("session.move", { session_id, workdir: it.workdir });
    assertEquals((await errorOf(move)).code, "permission_denied");
    await it.turn("second");
    await refused(other, /a background command of session .* runs: .*sleep 600/, "conflict");
    assertEquals((await it.call("session.get")).workdir, it.workdir);
    assertEquals(moves(it), []);
  },
});

for (
  const [name, move] of [
    ["in its directory", (it: Scenario, to: string) => Deno.renameSync(it.workdir, to)],
    ["that is moved", (_: Scenario, to: string) => Deno.mkdirSync(to)],
  ] as const
) {
  Deno.test({
    name: `a kill right after the move of a journal ${name} takes nothing back`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(answering);
      await it.turn("first");
      for (let n = 0; n < 4; n++) {
        const before = n === 0 ? it.workdir : `${it.workdir}-${n - 1}`;
        const to = `${it.workdir}-${n}`;
        if (n > 0) Object.assign(it, { workdir: before });
        const target = `${before.replace(/-\d$/, "")}-${n}`;
        move(it, target);
        const moving = it.call("session.move", { workdir: target }).catch(() => {});
        await it.event("session.moved", ({ data }) => data.workdir === target);
        await restart(it, "kill");
        await moving;
        await follow(it);
        assertEquals(await workdirs(it), [target], to);
        await it.turn(`turn ${n}`);
        Object.assign(it, { workdir: target.replace(/-\d$/, "") });
      }
      assertEquals(moves(it).length, 4);
    },
  });
}

Deno.test({
  name: "a move that a kill cut off between the files and the record is finished at the next start",
  ignore,
  async fn() {
    await using it = await Scenario.begin(answering);
    await it.turn("first");
    const other = it.place.mkdir("other");
    const sessions = (dir: string) => join(dir, ".svc", "sessions", it.session_id);
    const link = join(it.place.home, "journals", it.session_id);
    await restart(it, "kill", () => {
      Deno.mkdirSync(join(other, ".svc", "sessions"), { recursive: true, mode: 0o700 });
      Deno.chmodSync(join(other, ".svc"), 0o700);
      Deno.removeSync(link);
      Deno.symlinkSync(join(sessions(other), "journal.ndjson"), link);
    });
    // The link alone was changed: the session is where it was, and so is the link.
    await follow(it);
    assertEquals(await workdirs(it), [it.workdir]);
    assertStringIncludes(Deno.readLinkSync(link), it.workdir);
    await restart(it, "kill", () => {
      Deno.removeSync(link);
      Deno.symlinkSync(join(sessions(other), "journal.ndjson"), link);
      Deno.renameSync(sessions(it.workdir), sessions(other));
    });
    assertEquals(await workdirs(it), [other]);
    await follow(it);
    await it.turn("second");
    assertEquals(moves(it).map(([from, to]) => [from, to]), [[it.workdir, other]]);
  },
});
