/**
 * Another user of the same machine, with a shell and time. The victim's home directory may be looked
 * into, as on many systems, so that only the modes and checks of svc protect what is in it.
 */
import { join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { attacksBy, type Loot, lootOf, once, sharedStage, type Stage } from "./kit.ts";
import { granted } from "../support/permissions.ts";
import { killKeepers, recordedKeeper } from "../support/port_keeper.ts";
import { until } from "../support/scripted.ts";
import type { User } from "./users.ts";

const attack = attacksBy("other user");
const SECOND = { needs: ["second user"] } as const;
const MEMORY = "the vault is behind the painting";

let session_id: string;
const it = sharedStage({
  policy: "mcp_servers: []\n",
  async prepare(stage) {
    stage.victim.write(join(stage.svc_home, "env"), "SOME_KEY=1\n");
    await stage.victim.sh("mkdir -m 700 bin && cp /bin/sleep bin/svc", { cwd: stage.svc_home });
  },
  async begin(stage) {
    session_id = await stage.session(stage.workdir("project"));
    await stage.run(session_id, `remember fact: ${MEMORY}\nwrite a.txt "one"`);
  },
});

/** The path of something of the daemon's, or of its session's. */
function at(name: string): string {
  const { svc_home, victim } = it.stage;
  const project = join(victim.home, "project");
  return name.startsWith("~/.svc")
    ? join(svc_home, name.slice("~/.svc".length))
    : join(project, name.replace("ID", session_id));
}

const FILES = [
  "~/.svc/daemon.json",
  "~/.svc/daemon.lock",
  "~/.svc/daemon.toml",
  "~/.svc/policy.yaml",
  "~/.svc/env",
  "~/.svc/sessions-index.json",
  "~/.svc/state.db",
  "~/.svc/state.db-wal",
  "~/.svc/bin/svc",
  "~/.svc/log/daemon.ndjson",
  "~/.svc/cortex/curator-audit.jsonl",
  "~/.svc/journals/ID",
  ".svc/.gitignore",
  ".svc/sessions/ID/journal.ndjson",
];
const DIRECTORIES = [
  "~/.svc",
  "~/.svc/run",
  "~/.svc/log",
  "~/.svc/bin",
  "~/.svc/bus",
  "~/.svc/journals",
  "~/.svc/cortex",
  ".svc",
  ".svc/sessions",
  ".svc/sessions/ID",
];

/** A line of shell done to a path: by the victim it must end well, by the other user it must not. */
function onPath(what: string, name: string, line: string): void {
  const probe = async (user: User): Promise<Loot> => {
    const path = at(name).replace("journals/ID", `journals/${session_id}`);
    return await user.can(line, { env: { AT: path } }) ? `${line} on ${path}` : undefined;
  };
  attack(`${what} ${name}`, {
    ...SECOND,
    control: () => probe(it.stage.victim),
    attempt: () => probe(it.stage.attacker),
  });
}

for (const name of FILES) {
  onPath("reads", name, 'cat "$AT" > /dev/null');
  onPath("writes to", name, ': >> "$AT"');
}
for (const name of DIRECTORIES) {
  onPath("lists", name, 'ls "$AT"');
  onPath("plants a file in", name, 'touch "$AT/planted" && rm "$AT/planted"');
}

attack("finds anything readable below ~/.svc or a session's .svc", {
  ...SECOND,
  control: () => readable(it.stage.victim),
  attempt: () => readable(it.stage.attacker),
});

async function readable(user: User): Promise<Loot> {
  const { stdout } = await user.run("find", [
    it.stage.svc_home,
    at(".svc"),
    ...["-mindepth", "1", "-readable", "-not", "-type", "l"],
  ]);
  return stdout || undefined;
}

// Processes.

const PROC = ["environ", "maps", "auxv", "io", "pagemap"];
for (const name of PROC) {
  attack(`reads /proc/PID/${name} of the daemon`, {
    ...SECOND,
    control: () => procFile(it.stage.victim, name, "self"),
    attempt: () => procFile(it.stage.attacker, name, String(it.stage.daemon.pid)),
  });
}

async function procFile(user: User, name: string, pid: string): Promise<Loot> {
  const { code, stdout } = await user.run("head", ["-c", "64", `/proc/${pid}/${name}`]);
  return code === 0 ? stdout || "empty" : undefined;
}

for (const name of ["cwd", "root", "exe", "fd/0"]) {
  attack(`follows /proc/PID/${name} of the daemon`, {
    ...SECOND,
    control: () => followed(it.stage.victim, name),
    attempt: () => followed(it.stage.attacker, name),
  });
}

async function followed(user: User, name: string): Promise<Loot> {
  const { stdout } = await user.run("readlink", [`/proc/${it.stage.daemon.pid}/${name}`]);
  return stdout || undefined;
}

const PTRACE = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[2])
def ptrace():
    if libc.ptrace(16, pid, 0, 0) != 0: return False
    os.waitpid(pid, 0x40000000)
    libc.ptrace(17, pid, 0, 0)
    return True
def readv():
    line = open("/proc/%d/maps" % pid).readline() if os.access("/proc/%d/maps" % pid, os.R_OK) else "10000-"
    class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
    buffer = ctypes.create_string_buffer(8)
    own = iovec(ctypes.addressof(buffer), 8)
    other = iovec(int(line.split("-")[0], 16), 8)
    return libc.process_vm_readv(pid, ctypes.byref(own), 1, ctypes.byref(other), 1, 0) == 8
def memory():
    with open("/proc/%d/mem" % pid, "rb"): return True
def getfd():
    found = libc.syscall(438, libc.syscall(434, pid, 0), 0, 0)
    return found >= 0
def signal():
    os.kill(pid, 0)
    return True
def nice():
    os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))
    return True
def affinity():
    os.sched_setaffinity(pid, os.sched_getaffinity(pid))
    return True
def limits():
    import resource
    resource.prlimit(pid, resource.RLIMIT_CORE, resource.prlimit(pid, resource.RLIMIT_CORE))
    return True
def namespace():
    fd = os.open("/proc/%d/ns/net" % pid, os.O_RDONLY)
    return True
try: print("got it" if globals()[sys.argv[1]]() else "no")
except OSError as error: print("no", error)
`;
for (
  const [what, name] of [
    ["attaches to the daemon with ptrace", "ptrace"],
    ["reads the daemon's memory by process_vm_readv", "readv"],
    ["opens the daemon's /proc/PID/mem", "memory"],
    ["takes a descriptor out of the daemon with pidfd_getfd", "getfd"],
    ["signals the daemon", "signal"],
    ["changes the daemon's priority", "nice"],
    ["binds the daemon to other processors", "affinity"],
    ["sets the daemon's limits", "limits"],
    ["opens the daemon's network namespace", "namespace"],
  ]
) {
  // The control's own child, as the daemon may not be stopped by it.
  const probe = async (user: User, pid: string): Promise<Loot> =>
    lootOf(await user.sh(pid, { env: { P: PTRACE, NAME: name } }), "got it");
  attack(what, {
    needs: ["second user", "python"],
    control: () => probe(it.stage.victim, 'sleep 30 & python3 -c "$P" "$NAME" $!; kill $!'),
    attempt: () => probe(it.stage.attacker, `python3 -c "$P" "$NAME" ${it.stage.daemon.pid}`),
  });
}

for (const name of ["environ", "maps", "cwd"]) {
  attack(`reads /proc/PID/${name} of a command that a session runs`, {
    needs: ["second user", "sandbox"],
    control: () => ofCommand(it.stage.victim, name),
    attempt: () => ofCommand(it.stage.attacker, name),
  });
}

/** Runs a command until it was looked for among the processes of the victim. */
async function ofCommand(user: User, name: string): Promise<Loot> {
  const marker = `4${Math.floor(Math.random() * 1e6)}`;
  const running = it.stage.run(session_id, `run exec sleep 60.${marker}`);
  // While a process is being replaced by its program, the kernel shows nothing of it: asked again.
  const look = `for n in $(seq 2000); do p=$(pgrep -f "^sleep 60[.]${marker}$" | head -1); ` +
    `[ -n "$p" ] && break; sleep 0.05; done; [ -n "$p" ] || exit 9; ` +
    `for n in $(seq 20); do ` +
    (name === "cwd" ? `ls /proc/$p/cwd/` : `head -c 100 /proc/$p/${name} | grep -a .`) +
    ` && exit; sleep 0.05; done; exit 1`;
  const { code, stdout, stderr } = await user.run("/bin/sh", ["-c", look]);
  await it.stage.call("session.cancel", { session_id }).catch(() => {});
  await running;
  if (code === 9) throw new Error(`the command did not start: ${stderr}`);
  return code === 0 ? stdout : undefined;
}

// Sockets and ports.

const CONNECT = `
import socket, sys
kind, where, send = sys.argv[1:4]
s = socket.socket(socket.AF_UNIX) if kind == "unix" else socket.socket()
s.settimeout(5)
try:
    s.connect(where if kind == "unix" else ("127.0.0.1", int(where)))
    s.sendall(send.encode())
    print(s.recv(65536).decode())
except OSError as error: print("refused", error)
`;
const HEALTH = '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}\n';

attack("speaks on the socket", {
  needs: ["second user", "python"],
  control: () => overSocket(it.stage.victim),
  attempt: () => overSocket(it.stage.attacker),
});
attack("speaks on the socket when its modes and directories were opened by mistake", {
  needs: ["second user", "python"],
  control: () => overSocket(it.stage.victim),
  async attempt() {
    const { sock } = it.stage.daemon;
    const dirs = [it.stage.svc_home, join(it.stage.svc_home, "run")];
    for (const dir of dirs) Deno.chmodSync(dir, 0o755);
    Deno.chmodSync(sock, 0o666);
    const loot = await overSocket(it.stage.attacker);
    Deno.chmodSync(sock, 0o600);
    for (const dir of dirs) Deno.chmodSync(dir, 0o700);
    return loot;
  },
});

async function overSocket(user: User): Promise<Loot> {
  return lootOf(await user.python(CONNECT, ["unix", it.stage.daemon.sock, HEALTH]), '"status"');
}

for (
  const [what, authorization] of [
    ["no token", ""],
    ["an empty token", "Authorization: Bearer \r\n"],
    ["a token of zeros", `Authorization: Bearer ${"0".repeat(64)}\r\n`],
    ["basic credentials", "Authorization: Basic OnN2Yw==\r\n"],
    ["the socket's path as a token", "Authorization: Bearer svc.sock\r\n"],
    ["two tokens", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"],
  ]
) {
  const probe = async (user: User, header: string): Promise<Loot> => {
    const { port } = it.stage.daemon;
    const request = `GET /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${header}\r\n`;
    return lootOf(await user.python(CONNECT, ["tcp", String(port), request]), '"sessions"');
  };
  attack(`lists sessions on the port with ${what}`, {
    needs: ["second user", "python"],
    control: () => probe(it.stage.victim, `Authorization: Bearer ${it.stage.daemon.token}\r\n`),
    attempt: () => probe(it.stage.attacker, authorization),
  });
}

const BIND = `
import socket, sys
where, port = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET)
for option in sys.argv[3:]: s.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
try:
    s.bind((where, port)); s.listen(); print("bound")
except OSError as error: print("refused", error)
`;
for (
  const [where, ...options] of [
    ["127.0.0.1"],
    ["127.0.0.1", "SO_REUSEADDR"],
    ["127.0.0.1", "SO_REUSEPORT"],
    ["127.0.0.1", "SO_REUSEADDR", "SO_REUSEPORT"],
    ["0.0.0.0"],
    ["0.0.0.0", "SO_REUSEADDR", "SO_REUSEPORT"],
    ["::"],
    ["::ffff:127.0.0.1"],
  ]
) {
  attack(`takes the daemon's port at ${[where, ...options].join(" with ")}`, {
    needs: ["second user", "python"],
    control: async () =>
      lootOf(await it.stage.attacker.python(BIND, [where, "0", ...options]), "bound"),
    attempt: async () => {
      const args = [where, String(it.stage.daemon.port), ...options];
      return lootOf(await it.stage.attacker.python(BIND, args), "bound");
    },
  });
}

const TAKE = `
import itertools, socket, sys
port = int(sys.argv[1])
options = [socket.SO_REUSEADDR, socket.SO_REUSEPORT]
ways = [(where, chosen) for where in ("127.0.0.1", "::1", "0.0.0.0", "::")
    for count in range(3) for chosen in itertools.combinations(options, count)]
for where, chosen in itertools.cycle(ways):
    with socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET) as s:
        for option in chosen: s.setsockopt(socket.SOL_SOCKET, option, 1)
        try: s.bind((where, port)); s.listen()
        except OSError: continue
        print("bound", where); break
`;
/** SVC_RESTARTS=1000 is the full size. */
const RESTARTS = Number(granted("env") && Deno.env.get("SVC_RESTARTS") || 20);

/** Tries to get the port of a daemon that is killed and started again, all the time. */
async function takenWhile(restarts: number, let_go: boolean): Promise<Loot> {
  const { stage } = it;
  // Sockets have short paths.
  const home = join(stage.victim.home, let_go ? "let_go" : "held");
  const start = () => stage.serveIn({ SVC_HOME: home });
  let daemon = await start();
  const { port } = daemon;
  await until(() => recordedKeeper({ home }) !== undefined, "a keeper of the port");
  const taker = stage.attacker.command("python3", ["-c", TAKE, String(port)]).spawn();
  const ended = taker.output();
  for (let n = 0; n < restarts && daemon.port === port; n++) {
    if (let_go) await killKeepers({ home });
    await daemon.kill();
    if (let_go) await ended;
    daemon = await start();
  }
  await daemon.kill();
  try {
    taker.kill("SIGKILL");
  } catch {
    // It has ended: it got the port.
  }
  const loot = new TextDecoder().decode((await ended).stdout).trim();
  if (loot === "" && daemon.port !== port) return `the daemon lost port ${port}`;
  return loot || undefined;
}

attack(`takes the port while the daemon is killed and started ${RESTARTS} times`, {
  needs: ["second user", "python"],
  control: () => takenWhile(1, true),
  attempt: () => takenWhile(RESTARTS, false),
});

// What is planted before the victim's daemon or session begins.

/** Starts a daemon that finds what `plant` left; what became of it when it should have refused. */
async function startOn(
  plant: (stage: Stage, dir: string) => Promise<Record<string, string>>,
): Promise<Loot> {
  const { stage } = it;
  const dir = join(stage.dir, `shared-${crypto.randomUUID()}`);
  Deno.mkdirSync(dir);
  Deno.chmodSync(dir, 0o1777);
  const env = await plant(stage, dir);
  try {
    const daemon = await stage.serveIn({ SVC_HOME: join(dir, "own"), ...env });
    await daemon.kill();
    return `a daemon with its socket at ${daemon.sock}`;
  } catch (error) {
    const text = (error as Error).message;
    // It says what is wrong; anything else is no refusal.
    if (/is a symbolic link|belongs to uid|has mode|not a directory|not a socket/.test(text)) {
      return undefined;
    }
    throw error;
  }
}

const starts = once(() =>
  startOn((_, dir) => Promise.resolve({ SVC_RUNTIME_DIR: join(dir, "mine") }))
);

const PLANTS: Record<string, [line: string, env: (dir: string) => Record<string, string>]> = {
  "a runtime directory of the attacker's": [
    "mkdir -m 700 run",
    (dir) => ({ SVC_RUNTIME_DIR: join(dir, "run") }),
  ],
  "a runtime directory that anyone may write": [
    "mkdir run && chmod 777 run",
    (dir) => ({ SVC_RUNTIME_DIR: join(dir, "run") }),
  ],
  "a link to the victim's home as runtime directory": [
    'ln -s "$VICTIM" run',
    (dir) => ({ SVC_RUNTIME_DIR: join(dir, "run") }),
  ],
  "a link to the attacker's directory as runtime directory": [
    'mkdir -p "$ME/run" && chmod 777 "$ME/run" && ln -s "$ME/run" run',
    (dir) => ({ SVC_RUNTIME_DIR: join(dir, "run") }),
  ],
  "a file as runtime directory": [
    "touch run && chmod 666 run",
    (dir) => ({ SVC_RUNTIME_DIR: join(dir, "run") }),
  ],
  "a home of the attacker's": [
    "mkdir -m 700 home",
    (dir) => ({ SVC_HOME: join(dir, "home") }),
  ],
  "a home of the attacker's that anyone may write": [
    "mkdir home && chmod 777 home",
    (dir) => ({ SVC_HOME: join(dir, "home") }),
  ],
  "a link to the attacker's directory as home": [
    'mkdir -p "$ME/home" && chmod 777 "$ME/home" && ln -s "$ME/home" home',
    (dir) => ({ SVC_HOME: join(dir, "home") }),
  ],
  "a link to the victim's own directory as home": [
    'ln -s "$VICTIM/project" home',
    (dir) => ({ SVC_HOME: join(dir, "home") }),
  ],
};
for (const [what, [line, env]] of Object.entries(PLANTS)) {
  attack(`plants ${what}, and the daemon starts on it`, {
    ...SECOND,
    control: starts,
    attempt: () =>
      startOn(async (stage, dir) => {
        const { attacker, victim } = stage;
        const said = await attacker.sh(line, {
          cwd: dir,
          env: { ME: attacker.home, VICTIM: victim.home },
        });
        if (said !== "") throw new Error(said);
        return env(dir);
      }),
  });
}

/** Starts a session in a directory that both may write; what it did there, unless it refused. */
async function sessionIn(line: string): Promise<{ loot: Loot; dir: string }> {
  const { stage } = it;
  const dir = join(stage.dir, `project-${crypto.randomUUID()}`);
  Deno.mkdirSync(dir);
  Deno.chmodSync(dir, 0o777);
  const { victim, attacker } = stage;
  const env = { ME: attacker.home, VICTIM: victim.home };
  const said = await attacker.sh(line, { cwd: dir, env });
  if (said !== "") throw new Error(said);
  try {
    return { loot: `session ${await stage.session(dir)}`, dir };
  } catch {
    return { loot: undefined, dir };
  }
}

for (
  const [what, line] of [
    ["a .svc of the attacker's", "mkdir -m 700 .svc"],
    ["a .svc that anyone may write", "mkdir .svc && chmod 777 .svc"],
    ["a .svc with sessions of the attacker's", "mkdir -p .svc/sessions && chmod -R 777 .svc"],
    ["a .svc that links to the victim's home", 'ln -s "$VICTIM" .svc'],
    [
      "a .svc that links to the attacker's directory",
      'mkdir -p "$ME/s" && chmod 777 "$ME/s" && ln -s "$ME/s" .svc',
    ],
    ["a pipe as .svc", "mkfifo -m 666 .svc"],
    ["a file as .svc", "touch .svc && chmod 666 .svc"],
    ["a dangling link as .svc", 'ln -s "$VICTIM/new" .svc'],
  ]
) {
  attack(`plants ${what} in a shared directory, and a session keeps its journal there`, {
    ...SECOND,
    control: async () => (await sessionIn("touch harmless")).loot,
    attempt: async () => (await sessionIn(line)).loot,
  });
}

const IGNORE = "*\n";
for (const target of ["a file of the victim's", "a new file in the victim's home"]) {
  attack(`has the daemon write through .svc/.gitignore to ${target}`, {
    ...SECOND,
    async control() {
      const { loot, dir } = await sessionIn("true");
      return loot && Deno.readTextFileSync(join(dir, ".svc/.gitignore")) === IGNORE
        ? dir
        : undefined;
    },
    async attempt() {
      const { victim } = it.stage;
      const existing = target.startsWith("a file");
      const path = join(victim.home, existing ? "precious" : "fresh");
      if (existing) victim.write(path, "precious");
      await sessionIn(`mkdir .svc && chmod 777 .svc && ln -s ${path} .svc/.gitignore`);
      const text = await victim.sh(`cat ${path} 2>/dev/null`);
      return text === (existing ? "precious" : "") ? undefined : text;
    },
  });
}

// Secrets that anyone can see in the list of processes.

const COMMANDS: Record<string, readonly string[]> = {
  "svc ctl": ["ctl", "sessions", "list"],
  "svc chat -p": ["chat", "-p", "run sleep 1"],
  "svc doctor": ["doctor"],
};
for (const [what, args] of Object.entries(COMMANDS)) {
  attack(`finds the token in the command lines while \`${what}\` runs`, {
    ...SECOND,
    control: () => commandLines([...args, "--token", it.stage.daemon.token]),
    attempt: () => commandLines(args),
  });
}

/** Looks that must have found a command, and runs of it, before it counts as looked at. */
const LOOKS = 10;
const RUNS = 3;

/** What `ps` shows while a command of the victim's runs, if the token is in it. */
async function commandLines(args: readonly string[]): Promise<Loot> {
  const { stage } = it;
  const seen = join(stage.attacker.home, `seen-${crypto.randomUUID()}`);
  const stop = `${seen}.stop`;
  const look = "cat /proc/[0-9]*/cmdline 2>/dev/null; sleep 0.02";
  const looking = stage.attacker.sh(`until [ -e ${stop} ]; do ${look}; done >${seen}`);
  const lines = () => exists(seen) ? Deno.readTextFileSync(seen) : "";
  try {
    const env = { SVC_HOME: stage.svc_home };
    // One run may begin and end between two looks.
    for (let run = 1; run <= RUNS || timesIn(lines(), args.join("\0")) < LOOKS; run++) {
      if (run > 200) throw new Error(`svc ${args.join(" ")} was never seen among the processes`);
      await stage.svc(args, { env, cwd: stage.victim.home, timeout_ms: 20_000 });
    }
  } finally {
    Deno.writeTextFileSync(stop, "");
    await looking;
  }
  return lootOf(lines(), stage.daemon.token, "sk-key");
}

function timesIn(text: string, part: string): number {
  return text.split(part).length - 1;
}
