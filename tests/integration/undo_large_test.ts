/** A large directory is not looked through for each turn: the kernel notes what changes in it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled } from "../support/repository.ts";
import type { Scripted } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { watchesOf } from "../support/watches.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os !== "linux";

const DIRECTORIES = 40;
const FILES = 950;

function makeLarge(workdir: string): void {
  for (let n = 0; n < DIRECTORIES; n++) {
    Deno.mkdirSync(join(workdir, `d${n}`, "node_modules/some"), { recursive: true });
  }
  for (let n = 0; n < FILES; n++) {
    Deno.writeTextFileSync(join(workdir, `d${n % DIRECTORIES}`, `f${n}`), `line ${n}\n`);
  }
  Deno.writeTextFileSync(join(workdir, ".gitignore"), "node_modules/\n");
}

/** Writes the file that it is asked for; only answers to anything else. */
const writes: Scripted = ({ messages }) => {
  const last = messages.at(-1);
  const [, path] = last?.role === "user" ? /write (\S+)/.exec(String(last.text)) ?? [] : [];
  if (path === undefined) return { text: "Done." };
  return { calls: [{ name: "write_file", args: { path, content: "by the model" } }] };
};

/** The directories that are watched, once they are. */
async function watched(it: Scenario): Promise<number[]> {
  await until(() => watchesOf(it.place.discovery().pid).length > 0, "a watch");
  return watchesOf(it.place.discovery().pid);
}

/** The states of the last turn that wrote. */
function statesOf(it: Scenario) {
  const [before, after] = it.client.of("files.kept").slice(-2).map(({ data }) => data);
  assertEquals([before.moment, after.moment], ["before", "after"]);
  return { before, after };
}

Deno.test({
  name: "a turn in an unchanged large directory begins without git; what a person changes is seen",
  ignore,
  async fn() {
    await using it = await Scenario.begin(writes);
    makeLarge(it.workdir);
    await it.turn("write first");
    // Its top and the directories in it, not the ignored ones.
    assertEquals(await watched(it), [DIRECTORIES + 1]);
    await it.turn("write second");
    const second = statesOf(it);

    // Git could not read this; the state before the turn needs none, that after it does.
    const index = join(it.workdir, ".svc/sessions", it.session_id, "files.git/index");
    const content = Deno.readFileSync(index);
    Deno.writeTextFileSync(index, "no index");
    await it.turn("write third");
    const third = statesOf(it);
    assertEquals(third.before.state, second.after.state);
    assertStringIncludes(`${third.after.problem}`, "index");
    Deno.writeFileSync(index, content);

    await it.turn("write fourth");
    Deno.writeTextFileSync(join(it.workdir, "d7/f7"), "by a person");
    Deno.writeTextFileSync(join(it.workdir, "d8/node_modules/some/f"), "ignored");
    const { message_id } = await it.send("write d7/f7");
    await it.event("turn.completed", ({ seq }) => seq > it.client.of("user.message").at(-1)!.seq);
    const read = (name: string) => Deno.readTextFileSync(join(it.workdir, name));
    assertEquals(read("d7/f7"), "by the model");
    await it.call("session.rewind", { message_id, what: "files" });
    assertEquals(read("d7/f7"), "by a person");
    assertEquals(read("fourth"), "by the model");
  },
});

Deno.test({
  name: "a new directory is watched too, after a restart as well; an ended session's is not",
  ignore,
  async fn() {
    await using it = await Scenario.begin(writes);
    makeLarge(it.workdir);
    await it.turn("write first");
    await watched(it);
    await it.turn("write new/directory/f");
    const all = DIRECTORIES + 3;
    const pid = () => it.place.discovery().pid;
    await until(() => watchesOf(pid())[0] === all, "the new ones");
    await it.turn("write other");
    Deno.writeTextFileSync(join(it.workdir, "new/directory/f"), "by a person");
    await it.turn("write third");
    const { turns } = await it.call("session.changes");
    assertEquals(turns.map((turn: { files_changed: number }) => turn.files_changed), [1, 1, 1, 1]);

    await it.restart();
    assertEquals(watchesOf(pid()), []);
    await it.turn("write after");
    assertEquals(await watched(it), [all]);
    await it.call("session.kill");
    await until(() => watchesOf(pid()).length === 0, "no watch");
  },
});

Deno.test({
  name: "a turn that thinks has its first state ready; few directories are watched at a time",
  ignore,
  async fn() {
    const going = Promise.withResolvers<void>();
    await using it = await Scenario.begin(async (request) => {
      if (JSON.stringify(request.messages).includes("think")) await going.promise;
      return await writes(request);
    });
    makeLarge(it.workdir);
    await it.send("think, then write first");
    const index = join(it.workdir, ".svc/sessions", it.session_id, "files.git/svc-last");
    await watched(it);
    const prepared = Deno.readTextFileSync(index).trim();
    assertEquals(it.client.of("files.kept"), []);
    going.resolve();
    await it.event("turn.completed");
    assertEquals(statesOf(it).before.state, prepared);

    for (let n = 0; n < 9; n++) {
      const workdir = it.place.mkdir(`other ${n}`);
      makeLarge(workdir);
      const session_id = await it.client.session({ workdir, model: it.model, approval: "auto" });
      const before = watchesOf(it.place.discovery().pid).length;
      await it.client.turn(session_id, "write first");
      await until(
        () => watchesOf(it.place.discovery().pid).length >= Math.min(8, before + 1),
        "one",
      );
    }
    await until(() => watchesOf(it.place.discovery().pid).length === 8, "eight");
    assert(watchesOf(it.place.discovery().pid).every((count) => count === DIRECTORIES + 1));
  },
});
