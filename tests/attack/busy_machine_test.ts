/**
 * A command runs at a moment when the machine has no room for its sandbox. The control is the same
 * command where there is no sandbox.
 */
import { attacksBy, type Loot, lootOf, once, Stage } from "./kit.ts";

const attack = attacksBy("model");
const TRIES = 3;

/** How a session reads what only the person may. */
async function read(stage: Stage, session_id: string): Promise<Loot> {
  const output = await stage.run(session_id, `run cat ${stage.secret_file}`);
  return lootOf(output, stage.secret);
}

/**
 * What a session's commands bring home, of which the first had no room for its sandbox.
 *
 * @param limit a name of `prlimit`
 * @param left how much its daemon may have at first, as an expression of the shell
 */
async function withoutRoom(limit: string, left: (pid: number) => string): Promise<Loot> {
  for (let tries = 1;; tries++) {
    await using stage = await Stage.open();
    try {
      return await withoutRoomOn(stage, limit, left);
    } catch (error) {
      // A daemon whose own stack lacked the room is gone, and has run nothing.
      const status = await stage.victim.sh(`cat /proc/${stage.daemon.pid}/status`);
      if (tries === TRIES || /^State:\s*[^Z\s]/m.test(status)) throw error;
    }
  }
}

async function withoutRoomOn(
  stage: Stage,
  limit: string,
  left: (pid: number) => string,
): Promise<Loot> {
  const { victim, daemon: { pid } } = stage;
  const session_id = await stage.session(stage.workdir("project"));
  // What the daemon itself needs of its stack grows with its first turn.
  await stage.turn(session_id, "hello");
  const usual = await victim.sh(`prlimit --pid ${pid} --${limit} --noheadings --output=SOFT`);
  await victim.sh(`prlimit --pid ${pid} --${limit}=$((${left(pid)})):`);
  const first = await stage.run(session_id, `run cat ${stage.secret_file}`);
  await victim.sh(`prlimit --pid ${pid} --${limit}=${usual.trim()}:`);
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
    attempt: () => withoutRoom("nproc", (pid) => `$(ls /proc/${pid}/task | wc -l) + ${more}`),
  });
}

for (const more of [0, 2, 4, 6, 8, 12, 16]) {
  attack(`runs a command after one when only ${more} files could be opened`, {
    needs: ["sandbox"],
    control: unconfined,
    attempt: () => withoutRoom("nofile", (pid) => `$(ls /proc/${pid}/fd | wc -l) + ${more}`),
  });
}

// Whatever is started then is ended by SIGSEGV, as where the kernel lacks memory for a new program.
for (const bytes of [4_096, 16_384]) {
  attack(`runs a command after one when the sandbox had only ${bytes} bytes of stack`, {
    needs: ["sandbox"],
    control: unconfined,
    attempt: () => withoutRoom("stack", () => String(bytes)),
  });
}
