/**
 * A daemon that is killed again and again while it keeps states, rewinds and forks: after each restart
 * the store is readable, and the files are whole, as they were before or as they should be.
 *
 * SVC_SCALE=1 makes it 510 kills, SVC_REWIND_KILLS sets the number for each, SVC_TEST_SEED repeats a
 * run.
 */
import { delay } from "@std/async";
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { gitInstalled } from "../support/repository.ts";
import type { Scripted } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, tests_binary } from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_REWIND_KILLS");
const ignore = !can_run_svc || Deno.build.os === "windows" || !gitInstalled() ||
  !(tests_binary || asked_for);
const large = granted("env") && Deno.env.get("SVC_SCALE") === "1";
const KILLS = Number(asked_for || (large ? 170 : 3));
const FILES = 1_500;
/** The model is asked again after a restart only when the person says so. */
const TOML = '[agent]\ncontinue = "ask"\n';

function seeded(): Random {
  const seed = granted("env") && Deno.env.get("SVC_TEST_SEED");
  const random = new Random(Number(seed || Math.floor(Math.random() * 1e9)));
  console.log(`SVC_TEST_SEED=${random.seed}`);
  return random;
}

/** Answers every message with this command. */
function always(command: string): Scripted {
  return ({ messages }) =>
    messages.at(-1)?.role === "user"
      ? { calls: [{ name: "run_command", args: { command } }] }
      : { text: "Done." };
}

function fill(workdir: string, text: (n: number) => string): void {
  for (let n = 1; n <= FILES; n++) {
    Deno.writeTextFileSync(join(workdir, `d${n % 7}/f${n}`), text(n));
  }
}

Deno.test({
  name: `${KILLS} kills while files are restored: always one whole state`,
  ignore,
  async fn() {
    const random = seeded();
    const command = `for n in $(seq ${FILES}); do echo new >d$((n % 7))/f$n; done; ` +
      `for n in $(seq 100); do rm d0/f$((n * 7)); mkdir -p made/$n; echo made >made/$n/f; done`;
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command } }] },
      { text: "Done." },
    ]);
    const { workdir, session_id } = it;
    for (let n = 0; n < 7; n++) Deno.mkdirSync(join(workdir, `d${n}`));
    fill(workdir, () => "old");
    const old = await treeOf(workdir);
    await it.turn("go");
    const changed = await treeOf(workdir);
    assert(old !== changed);
    let at_old = false;
    let cut_off = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      const answer = it.call("session.rewind", { undo: at_old });
      let over = false;
      answer.catch(() => {}).finally(() => over = true);
      // One of the files whose content is about to change, wherever it comes.
      const watched = join(workdir, `d1/f${1 + 7 * random.below(200)}`);
      const content = Deno.readTextFileSync(watched);
      while (!over && readIfAny(watched) === content) await new Promise((done) => setTimeout(done));
      await it.daemon.kill();
      await answer.catch(() => {});
      if (await treeOf(workdir) !== (at_old ? old : changed)) cut_off++;
      it.daemon = await it.place.serve();
      it.client = await it.daemon.rpc();
      const { turns } = await it.client.rpc.call("session.changes", { session_id });
      at_old = turns[0].undone;
      assertEquals(await treeOf(workdir), at_old ? old : changed, `kill ${kill}`);
    }
    console.log(`${KILLS} kills, ${cut_off} of them in the middle of it or after it`);
    assert(cut_off > 0, "at least one kill came in time");
    await it.call("session.rewind", { undo: at_old });
    assertEquals(await treeOf(workdir), at_old ? changed : old);
  },
});

Deno.test({
  name: `${KILLS} kills while a state is kept: nothing is written before the state is there`,
  ignore,
  async fn() {
    const random = seeded();
    const command = `for n in $(seq 1 7 ${FILES}); do echo new >d$((n % 7))/f$n; done`;
    await using it = await Scenario.begin(always(command), { toml: TOML });
    const { workdir } = it;
    for (let n = 0; n < 7; n++) Deno.mkdirSync(join(workdir, `d${n}`));
    fill(workdir, () => "old");
    const began = performance.now();
    await it.turn("go");
    const turn_ms = performance.now() - began;
    let kept = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      fill(workdir, (n) => `person ${kill} ${n}`);
      const old = await treeOf(workdir);
      const { message_id } = await it.send(`kill ${kill}`);
      await delay(random.next() * turn_ms);
      await it.restart();
      const { turns, problem } = await it.call("session.changes");
      assertEquals(problem, undefined);
      const is_kept = turns.some((turn: { message_id: string }) => turn.message_id === message_id);
      if (is_kept) {
        kept++;
        await it.call("session.rewind", { message_id, force: true });
      }
      assertEquals(await treeOf(workdir), old, `kill ${kill}, ${is_kept ? "" : "not "}kept`);
    }
    console.log(`${KILLS} kills, ${kept} of them after the state was kept`);
    const old = await treeOf(workdir);
    await it.turn("go on");
    assert(await treeOf(workdir) !== old);
    await it.call("session.rewind");
    assertEquals(await treeOf(workdir), old);
  },
});

Deno.test({
  name: `${KILLS} kills during a fork into a worktree: it is whole or gone`,
  ignore,
  async fn() {
    const random = seeded();
    const command = `for n in $(seq ${FILES}); do echo new >d$((n % 7))/f$n; done; rm -r d3`;
    await using it = await Scenario.begin(always(command), { toml: TOML });
    const { workdir } = it;
    for (let n = 0; n < 7; n++) Deno.mkdirSync(join(workdir, `d${n}`));
    fill(workdir, () => "committed");
    const git = "git -c user.name=a -c user.email=a@b.invalid";
    const script = `git init -q -b main . && ${git} add -A && ${git} commit -qm base`;
    const args = ["-c", script];
    assert(new Deno.Command("sh", { args, cwd: workdir }).outputSync().success);
    fill(workdir, (n) => n % 2 === 0 ? "committed" : "not committed");
    const old = await treeOf(workdir);
    const { message_id } = await it.send("go");
    await it.event("turn.completed");
    const changed = await treeOf(workdir);
    const began = performance.now();
    const whole = await it.call("session.fork", { message_id, worktree: true });
    const fork_ms = performance.now() - began;
    assertEquals(await treeOf(whole.workdir), old);
    const worktrees = join(workdir, ".svc", "worktrees");
    let made = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      const answer = it.call("session.fork", { message_id, worktree: true });
      answer.catch(() => {});
      await delay(random.next() * 1.2 * fork_ms);
      await it.restart();
      const { sessions } = await it.client.rpc.call("session.list", {}) as {
        sessions: { id: string; workdir: string }[];
      };
      const forks = sessions.filter((each) => each.id !== it.session_id);
      const expected = forks.map((each) => each.workdir).sort();
      const there = () => [...Deno.readDirSync(worktrees)].map(({ name }) => join(worktrees, name));
      await until(() => there().sort().join() === expected.join(), `worktrees of kill ${kill}`);
      for (const fork of forks) {
        assertEquals(await treeOf(fork.workdir), old, `kill ${kill}`);
        if (fork.id === whole.session_id) continue;
        made++;
        await it.client.rpc.call("session.kill", { session_id: fork.id });
        const { workdir: at } = fork;
        const name = at.slice(at.lastIndexOf("/") + 1);
        await it.client.rpc.call("worktree.clean", { workdir, name, force: true });
      }
      assertEquals(await treeOf(workdir), changed);
    }
    console.log(`${KILLS} kills, ${made} of them after the fork was made`);
    const journal = join(workdir, ".svc", "sessions", it.session_id);
    const left = () => [...Deno.readDirSync(journal)].map(({ name }) => name);
    // A store goes after its worktree.
    await until(() => !left().some((name) => name.startsWith("fork-")), "no store of a fork");
  },
});

function readIfAny(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined;
  }
}

/** All files of a directory with their content, but `.svc`, as one hash. */
async function treeOf(dir: string): Promise<string> {
  const found: string[] = [];
  const look = (path: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(join(dir, path))) {
      if (name === ".svc" || name === ".git") continue;
      const at = join(path, name);
      if (isDirectory) look(at);
      else found.push(`${at} ${Deno.readTextFileSync(join(dir, at))}`);
    }
  };
  look("");
  const bytes = new TextEncoder().encode(found.sort().join("\n"));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
