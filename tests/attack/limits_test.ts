/**
 * A model's command takes more of the machine than one may. The control is the same command after
 * the limit was taken away, which the person may do while the daemon runs.
 */
import { delay } from "@std/async";
import { join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { until } from "../support/scripted.ts";
import { attacksBy, type Json, type Loot, sharedStage, type Stage } from "./kit.ts";

const attack = attacksBy("model");

/** The kernel allows eight processes and threads for each process: 128. */
const LIMITS = {
  max_processes: 16,
  max_memory_mb: 512,
  max_open_files: 128,
  max_file_mb: 2,
  max_tmp_mb: 16,
};
const UNLIMITED = {
  max_processes: 0,
  max_memory_mb: 0,
  max_open_files: 0,
  max_file_mb: 0,
  max_tmp_mb: 0,
};

/** Each says how much it got, and gives it back. */
const GREED = `
import os, resource, signal, sys, time
def processes(wanted=200):
    children = []
    try:
        while len(children) < wanted:
            pid = os.fork()
            if pid == 0:
                time.sleep(60); os._exit(0)
            children.append(pid)
    except OSError: pass
    for pid in children: os.kill(pid, signal.SIGKILL)
    return len(children) >= wanted
def threads():
    import threading
    stop = threading.Event()
    started = []
    try:
        while len(started) < 200:
            it = threading.Thread(target=stop.wait, daemon=True); it.start(); started.append(it)
    except RuntimeError: pass
    stop.set()
    return len(started) >= 200
def memory():
    try: held = bytearray(700 << 20)
    except MemoryError: return False
    return len(held) >= 700 << 20
def files():
    held = []
    try:
        while len(held) < 200: held.append(open("/dev/null"))
    except OSError: pass
    return len(held) >= 200
def disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open("filling", "wb") as file:
            for n in range(8): file.write(bytes(1 << 20)); file.flush()
    except OSError: pass
    size = os.path.getsize("filling")
    os.remove("filling")
    return size >= 8 << 20
def raising():
    for name in [resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE]:
        limit = resource.getrlimit(name)[0]
        if limit < 0: continue
        try: resource.setrlimit(name, (2 * limit, 2 * limit)); return True
        except (ValueError, OSError): pass
    return False
print("GOT" if {
  "processes": processes, "threads": threads, "memory": memory, "files": files, "disk": disk,
  "raising": raising, "few": lambda: processes(10),
}[sys.argv[1]]() else "nothing")
`;

let project: string;
let session_id: string;
const it = sharedStage({
  hostile_model: true,
  async begin(stage) {
    project = stage.workdir("project");
    stage.victim.write(join(project, "greed.py"), GREED);
    stage.victim.write(join(project, "held.py"), HELD);
    session_id = await stage.session(project);
  },
});

const got = (output: string): Loot => /^GOT$/m.test(output) ? output : undefined;

async function limit(stage: Stage, limits: Record<string, number>): Promise<void> {
  const changes = Object.fromEntries(
    Object.entries(limits).map(([key, value]) => [`sandbox.${key}`, value]),
  );
  await stage.call("daemon.set_config", { changes });
}

async function greed(stage: Stage, what: string, limits: Record<string, number>): Promise<Loot> {
  await limit(stage, limits);
  return got(await stage.run(session_id, `run python3 greed.py ${what}`));
}

const KINDS: Record<string, string> = {
  processes: "starts two hundred processes",
  threads: "starts two hundred threads",
  memory: "takes 700 MB of memory",
  files: "opens two hundred files",
  disk: "writes a file of 8 MB",
};

for (const [what, does] of Object.entries(KINDS)) {
  attack(`a command ${does}`, {
    needs: ["sandbox", "python", "second user"],
    control: () => greed(it.stage, what, UNLIMITED),
    attempt: () => greed(it.stage, what, LIMITS),
  });
}

attack("a command raises its limits", {
  needs: ["sandbox", "python", "second user"],
  control: async () =>
    got(await it.stage.victim.sh(`ulimit -S -n 64; python3 greed.py raising`, { cwd: project })),
  attempt: () => greed(it.stage, "raising", LIMITS),
});

/** Has as many threads as it may, and keeps them until it is told to stop. */
const BOMB = `
import os, threading, time
try:
    for _ in range(150):
        threading.Thread(target=time.sleep, args=[120], daemon=True).start()
except RuntimeError: pass
open("full", "w").close()
while os.path.exists("full"): time.sleep(0.05)
os.kill(-1, 9)
`;

attack("a command with all threads that it may have keeps others from starting theirs", {
  needs: ["sandbox", "python", "second user"],
  // A command that is itself at the limit sees what the others must not see.
  control: () => besideABomb(it.stage, "greed.py processes"),
  attempt: () => besideABomb(it.stage, "greed.py few"),
});

/** What another session's command cannot start while one of the first session has all it may. */
async function besideABomb(stage: Stage, program: string): Promise<Loot> {
  await stage.call("daemon.set_config", { changes: { "sandbox.max_processes": 16 } });
  stage.victim.write(join(project, "bomb.py"), BOMB);
  const full = join(project, "full");
  const bomb = stage.run(session_id, "run python3 bomb.py");
  try {
    await until(() => exists(full), "a command with all its processes");
    const other = stage.workdir("other");
    stage.victim.write(join(other, "greed.py"), GREED);
    const output = await stage.run(await stage.session(other), `run python3 ${program}`);
    return got(output) === undefined ? output : undefined;
  } finally {
    Deno.removeSync(full);
    await bomb;
  }
}

/**
 * Each takes something that no process of it has too much of, and keeps it while "hold" is there;
 * the deadline is for a limit that does not hold.
 */
const HELD = `
import os, sys, time
def child(work):
    pid = os.fork()
    if pid == 0:
        try: work()
        finally: os._exit(0)
    return pid
def hold():
    open("full", "w").close()
    deadline = time.monotonic() + 20
    while os.path.exists("hold") and time.monotonic() < deadline: time.sleep(0.02)
def memory():
    def work():
        held = b"x" * (60 << 20)
        time.sleep(60)
    children = [child(work) for _ in range(8)]
    time.sleep(0.5)
    hold()
    return children
def tmpfs():
    for n in range(4):
        with open(f"/dev/shm/{n}", "wb") as file:
            for _ in range(100): file.write(b"x" * (1 << 20))
    hold()
    for n in range(4): os.remove(f"/dev/shm/{n}")
    return []
def shared():
    held = b"x" * (200 << 20)
    children = [child(lambda: time.sleep(60)) for _ in range(8)]
    # Several looks at them.
    time.sleep(2)
    hold()
    return children
def half():
    held = b"x" * (200 << 20)
    hold()
    return []
def processes():
    children = [child(lambda: time.sleep(60)) for _ in range(100)]
    hold()
    return children
def tmp():
    with open("/tmp/filling", "wb") as file:
        for _ in range(40): file.write(b"x" * (1 << 20))
    hold()
    return []
for pid in {"memory": memory, "tmpfs": tmpfs, "shared": shared, "half": half, "processes": processes, "tmp": tmp}[sys.argv[1]]():
    os.kill(pid, 9)
print("GOT")
`;

/** What runs while a file lies in the directory. @param let_go whether it is let go once it is full */
async function held(
  stage: Stage,
  what: string,
  let_go: boolean,
  id?: string,
): Promise<string> {
  const own = id ?? await stage.session(project);
  const [hold, full] = [join(project, "hold"), join(project, "full")];
  stage.victim.write(hold, "");
  const output = stage.run(own, `run python3 held.py ${what}`);
  try {
    if (let_go) await until(() => exists(full), "a command that has what it wants");
    if (let_go) Deno.removeSync(hold);
    return await output;
  } finally {
    await output;
    for (const file of [hold, full]) if (exists(file)) Deno.removeSync(file);
  }
}

const TOGETHER: readonly {
  what: string;
  does: string;
  limits: Record<string, number>;
  says: RegExp;
}[] = [
  {
    what: "memory",
    does: "takes more memory with all its processes than a session may",
    limits: { max_memory_mb: 300 },
    says:
      /svc ended this command: .* used \d+ MB of memory together and may use 300 MB; max_memory_mb/,
  },
  {
    what: "tmpfs",
    does: "keeps more files in memory than a session may have there",
    limits: { max_memory_mb: 300 },
    says:
      /svc ended this command: .* used \d+ MB of memory together and may use 300 MB; max_memory_mb/,
  },
  {
    what: "processes",
    does: "has more processes than a session may",
    limits: { max_processes: 64 },
    says: /svc ended this command: .* had more than 64 processes; max_processes/,
  },
  {
    what: "tmp",
    does: "fills the /tmp of its session",
    limits: { max_tmp_mb: 16 },
    says:
      /svc ended this command: the \/tmp of this session held \d+ MB and may hold 16 MB; max_tmp_mb/,
  },
];

for (const { what, does, limits, says } of TOGETHER) {
  attack(`a command ${does}`, {
    needs: ["sandbox", "python", "second user"],
    async control() {
      await limit(it.stage, UNLIMITED);
      return got(await held(it.stage, what, true));
    },
    async attempt() {
      await limit(it.stage, { ...UNLIMITED, ...limits });
      const output = await held(it.stage, what, false);
      // Without the message nobody would know why it ended, nor what to change.
      return says.test(output) && got(output) === undefined ? undefined : output;
    },
  });
}

let overfull: string;
attack("a session whose /tmp is too full cannot be emptied", {
  needs: ["sandbox", "python", "second user"],
  async control() {
    await limit(it.stage, { ...UNLIMITED, max_tmp_mb: 16 });
    overfull = await it.stage.session(project);
    const output = await held(it.stage, "tmp", false, overfull);
    return /may hold 16 MB/.test(output) ? output : undefined;
  },
  async attempt() {
    const emptied = "sleep 3; rm /tmp/filling; sleep 3; ls -A /tmp; echo EMPTY";
    const output = await it.stage.run(overfull, `run ${emptied}`);
    return /^EMPTY$/m.test(output) ? undefined : output;
  },
});

attack("forked processes are counted with the memory that they share", {
  needs: ["sandbox", "python", "second user"],
  async control() {
    await limit(it.stage, { ...UNLIMITED, max_memory_mb: 300 });
    const output = await held(it.stage, "memory", false);
    return got(output) === undefined ? output : undefined;
  },
  async attempt() {
    const output = await held(it.stage, "shared", true);
    return got(output) === undefined ? output : undefined;
  },
});

/** Every process of it starts others until it is ended. */
const FORKS = `
import os
while True:
    try: os.fork()
    except OSError: pass
`;

attack("a fork bomb goes on, or keeps the daemon and another session from their work", {
  needs: ["sandbox", "python", "second user"],
  async control() {
    // What is ended without a message, and a command that cannot run, are seen.
    await limit(it.stage, { ...UNLIMITED, max_processes: 64 });
    return await bombed(it.stage, "python3 greed.py few", "python3 greed.py processes; false");
  },
  async attempt() {
    it.stage.victim.write(join(project, "forks.py"), FORKS);
    await limit(it.stage, { ...UNLIMITED, max_processes: 64 });
    return await bombed(it.stage, "timeout -s KILL 20 python3 forks.py", "echo fine");
  },
});

async function bombed(stage: Stage, bomb: string, beside: string): Promise<Loot> {
  const other = await stage.session(stage.workdir("beside"));
  const bombing = stage.run(session_id, `run ${bomb}`);
  const [output] = await Promise.all([
    stage.run(other, `run ${beside}`),
    stage.call("session.list"),
  ]);
  const end = await bombing;
  return output.trim() === "fine" && /had more than 64 processes/.test(end)
    ? undefined
    : `${output}\n${end}`;
}

attack("a background command takes more memory than its session may", {
  needs: ["sandbox", "python", "second user"],
  async control() {
    await limit(it.stage, UNLIMITED);
    return got(await inBackground(it.stage, true));
  },
  async attempt() {
    await limit(it.stage, { ...UNLIMITED, max_memory_mb: 300 });
    const output = await inBackground(it.stage, false);
    return /may use 300 MB; max_memory_mb/.test(output) && got(output) === undefined
      ? undefined
      : output;
  },
});

/** What a command in the background wrote until its end. */
async function inBackground(stage: Stage, let_go: boolean): Promise<string> {
  const [hold, full] = [join(project, "hold"), join(project, "full")];
  const id = await stage.session(project, { model: "local/hostile" });
  stage.victim.write(hold, "");
  try {
    const command = "python3 held.py memory";
    await stage.calls(id, [{ name: "run_command", args: { command, background: true } }]);
    if (let_go) {
      await until(() => exists(full), "a command that has what it wants");
      Deno.removeSync(hold);
    }
    const listed = async () =>
      (await stage.call("background.list", { session_id: id })).commands[0];
    await until(async () => !(await listed()).running, "the end of the command");
    const { command_id } = await listed();
    return (await stage.call("background.output", { session_id: id, command_id, from: 0 })).text;
  } finally {
    for (const file of [hold, full]) if (exists(file)) Deno.removeSync(file);
  }
}

attack("two commands of a session take more memory together than it may", {
  needs: ["sandbox", "python", "second user"],
  // The same two commands, of two sessions: each has the limit for itself.
  control: () => inTwo(it.stage, false),
  attempt: () => inTwo(it.stage, true),
});

/** What two commands in the background wrote, when both went on to their end. */
async function inTwo(stage: Stage, together: boolean): Promise<Loot> {
  await limit(stage, { ...UNLIMITED, max_memory_mb: 300 });
  const places = [stage.workdir("one"), stage.workdir("two")];
  const ids: string[] = [];
  for (const place of places) {
    stage.victim.write(join(place, "held.py"), HELD);
    stage.victim.write(join(place, "hold"), "");
    if (ids.length === 0 || !together) {
      ids.push(await stage.session(stage.victim.home, { model: "local/hostile" }));
    }
    const command = `cd ${place} && python3 held.py half`;
    await stage.calls(ids.at(-1)!, [{ name: "run_command", args: { command, background: true } }]);
  }
  const commands = async () => {
    const all = await Promise.all(
      ids.map(async (session_id) =>
        (await stage.call("background.list", { session_id })).commands
          .map((it: Json) => ({ ...it, session_id }))
      ),
    );
    return all.flat();
  };
  const both = () => places.every((place) => exists(join(place, "full")));
  const ended = async () => (await commands()).some(({ running }: Json) => !running);
  await until(async () => both() || await ended(), "two commands with what they want");
  // Where nothing ends one of them, both get what they want: long enough to be looked at.
  if (together) await until(ended, "the end of one of them");
  else await delay(1_500);
  for (const place of places) Deno.removeSync(join(place, "hold"));
  await until(
    async () => (await commands()).every(({ running }: Json) => !running),
    "the end of both",
  );
  const outputs = await Promise.all(
    (await commands()).map(async ({ session_id, command_id }) =>
      (await stage.call("background.output", { session_id, command_id, from: 0 })).text
    ),
  );
  const text = outputs.join("\n");
  if (outputs.every((output) => got(output) !== undefined)) return text;
  return together && !/may use 300 MB; max_memory_mb/.test(text) ? text : undefined;
}
