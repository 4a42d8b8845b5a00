/**
 * A model's command takes more of the machine than one may. The control is the same command after
 * the limit was taken away, which the person may do while the daemon runs.
 */
import { join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { until } from "../support/scripted.ts";
import { attacksBy, type Loot, sharedStage, type Stage } from "./kit.ts";

const attack = attacksBy("model");

const LIMITS = {
  max_processes: 64,
  max_memory_mb: 512,
  max_open_files: 128,
  max_file_mb: 2,
};
const UNLIMITED = { max_processes: 0, max_memory_mb: 0, max_open_files: 0, max_file_mb: 0 };

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
  "raising": raising, "few": lambda: processes(20),
}[sys.argv[1]]() else "nothing")
`;

let project: string;
let session_id: string;
const it = sharedStage({
  async begin(stage) {
    project = stage.workdir("project");
    stage.victim.write(join(project, "greed.py"), GREED);
    session_id = await stage.session(project);
  },
});

const got = (output: string): Loot => /^GOT$/m.test(output) ? output : undefined;

async function greed(stage: Stage, what: string, limits: Record<string, number>): Promise<Loot> {
  const changes = Object.fromEntries(
    Object.entries(limits).map(([key, value]) => [`sandbox.${key}`, value]),
  );
  await stage.call("daemon.set_config", { changes });
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

/** Has as many processes as it may, and keeps them until it is told to stop. */
const BOMB = `
import os, sys, time
try:
    for _ in range(150):
        if os.fork() == 0: time.sleep(120); os._exit(0)
except OSError: pass
open("full", "w").close()
while os.path.exists("full"): time.sleep(0.05)
os.kill(-1, 9)
`;

attack("a command with all processes that it may have keeps others from starting theirs", {
  needs: ["sandbox", "python", "second user"],
  // A command that is itself at the limit sees what the others must not see.
  control: () => besideABomb(it.stage, "greed.py processes"),
  attempt: () => besideABomb(it.stage, "greed.py few"),
});

/** What another session's command cannot start while one of the first session has all it may. */
async function besideABomb(stage: Stage, program: string): Promise<Loot> {
  await stage.call("daemon.set_config", { changes: { "sandbox.max_processes": 64 } });
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
