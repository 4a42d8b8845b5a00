/**
 * A command runs at a moment when the machine has no room for its sandbox. The control is the same
 * command where there is no sandbox.
 */
import { attacksBy, type Loot, lootOf, once, Stage } from "./kit.ts";

const attack = attacksBy("model");

/** How a session reads what only the person may. */
async function read(stage: Stage, session_id: string): Promise<Loot> {
  const output = await stage.run(session_id, `run cat ${stage.secret_file}`);
  return lootOf(output, stage.secret);
}

/**
 * What a session's commands bring home, of which the first had no room for its sandbox.
 *
 * @param more how many processes and threads its daemon may still start.
 */
async function withoutRoom(more: number): Promise<Loot> {
  await using stage = await Stage.open();
  const { victim, daemon: { pid } } = stage;
  const session_id = await stage.session(stage.workdir("project"));
  const usual = await victim.sh(`prlimit --pid ${pid} --nproc --noheadings --output=SOFT`);
  await victim.sh(`prlimit --pid ${pid} --nproc=$(($(ls /proc/${pid}/task | wc -l) + ${more})):`);
  const first = await stage.run(session_id, `run cat ${stage.secret_file}`);
  if (more === 0 && !first.includes("unavailable")) throw new Error(`there was room: ${first}`);
  await victim.sh(`prlimit --pid ${pid} --nproc=${usual.trim()}:`);
  return lootOf(first, stage.secret) ?? await read(stage, session_id);
}

const unconfined = once(async () => {
  await using stage = await Stage.open({ toml: `[sandbox]\nshell = "none"\n` });
  return await read(stage, await stage.session(stage.workdir("project")));
});

// How many of them the sandbox needs differs: it fails at one start or another, or not at all.
for (const more of [0, 10, 13, 18]) {
  attack(`runs a command after one when only ${more} processes and threads could be started`, {
    // Nothing limits how many processes root has.
    needs: ["sandbox", "second user"],
    control: unconfined,
    attempt: () => withoutRoom(more),
  });
}
