/**
 * A model's command under Landlock goes for what bubblewrap keeps away by namespaces: the machine's
 * own files by other ways than their names, its other programs, and what all programs share. The
 * control is the same probe by the victim, outside.
 */
import { delay } from "@std/async";
import { join } from "@std/path";
import { endProcess } from "../support/processes.ts";
import { assertStringIncludes } from "@std/assert";
import { attacksBy, type Loot, lootOf, MISSING, type Need, sharedStage } from "./kit.ts";

const attack = attacksBy("model");
const NEEDS: Need[] = ["landlock", "python"];
const TOML = '[sandbox]\nshell = "landlock"\n';

/** Prints GOT where something succeeds. */
const PROBE = `
import ctypes, errno, mmap, os, platform, resource, select, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
def call(x86, arm, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(x86 if X86 else arm),
        *[a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args])
    if result < 0: raise OSError(ctypes.get_errno(), "call %d" % (x86 if X86 else arm))
    return result
def here(): return True
# Files.
def read(path): return open(path).read()
def through_fd(path):
    fd = os.open(path, os.O_PATH)
    return open("/proc/self/fd/%d" % fd).read()
def at_directory(path):
    fd = os.open(os.path.dirname(path), os.O_PATH)
    return os.read(os.open(os.path.basename(path), os.O_RDONLY, dir_fd=fd), 1000)
def inside(path):
    os.chdir(os.path.dirname(path)); return open(os.path.basename(path)).read()
def listing(path): return os.listdir(path)
def mapped(path):
    with open(path) as f: return mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).read(100)
def write(path): open(path, "a").write("x"); return True
def link_in(path): os.link(path, "linked"); return open("linked").read()
def link_out(path):
    open("mine", "w").write("x"); os.link("mine", path); os.unlink(path); return True
def rename_in(path): os.rename(path, "moved"); os.rename("moved", path); return True
def rename_out(path):
    open("mine", "w").write("x"); os.rename("mine", path); os.unlink(path); return True
def exchange(path):
    open("mine", "w").write("x")
    args = [-100, b"mine", -100, path.encode(), 2]
    call(316, 276, *args); call(316, 276, *args)
    return True
def remove(path): os.unlink(path); open(path, "w").write("again"); return True
def make_directory(path): os.mkdir(path); os.rmdir(path); return True
def symlink_out(path): os.symlink("/", path); os.unlink(path); return True
def fifo(path): os.mkfifo(path); os.unlink(path); return True
def unnamed(path): os.open(path, 0o20200000 | os.O_RDWR, 0o600); return True
def truncated(path):
    if libc.truncate(path.encode(), 0) != 0: raise OSError(ctypes.get_errno(), "truncate")
    return True
def emptied(path): os.open(path, os.O_RDONLY | os.O_TRUNC); return True
def into_pipe(path):
    os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"x"); return True
def run(path): return "ran it" in os.popen(path + " 2>&1").read() or None
def loaded(path):
    return "ran it" in os.popen("/lib*/ld-linux*.so* %s 2>&1" % path).read() or None
def from_memory(path):
    fd = os.memfd_create("x"); os.write(fd, b"#!/bin/sh\\nexec cat '%s'\\n" % path.encode())
    return os.popen("/proc/%d/fd/%d" % (os.getpid(), fd)).read()
def copied(path):
    out = os.open("copy", os.O_RDWR | os.O_CREAT); fd = os.open(path, os.O_RDONLY)
    os.sendfile(out, fd, 0, 1000); return open("copy").read()
def by_handle(path):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.create_string_buffer(8)
    call(303, 264, -100, path.encode(), handle, mount, 0)
    root = os.open(".", os.O_RDONLY)
    return os.read(call(304, 265, root, handle, os.O_RDONLY), 1000)
# Other programs.
def process(pid, name): return open("/proc/%s/%s" % (pid, name), "rb").read(1) is not None
def linked(pid, name): return os.readlink("/proc/%s/%s" % (pid, name))
def within(pid, path): return open("/proc/%s/root%s" % (pid, path)).read()
def its_files(pid): return [os.readlink("/proc/%s/fd/%s" % (pid, n)) for n in os.listdir("/proc/%s/fd" % pid)]
def signals(pid): os.kill(int(pid), 0); return True
def thread_signal(pid): call(234, 131, int(pid), int(pid), 0); return True
def queued(pid):
    info = ctypes.create_string_buffer(struct.pack("iii", 0, 0, -1) + bytes(116))
    call(129, 138, int(pid), 0, info); return True
def by_pidfd(pid):
    fd = os.pidfd_open(int(pid)); call(424, 424, fd, 0, 0, 0); return True
def limits(pid): resource.prlimit(int(pid), resource.RLIMIT_CORE, resource.prlimit(int(pid), resource.RLIMIT_CORE)); return True
def limits_seen(pid): return resource.prlimit(int(pid), resource.RLIMIT_NOFILE)
def nicer(pid): os.setpriority(os.PRIO_PROCESS, int(pid), os.getpriority(os.PRIO_PROCESS, int(pid))); return True
def all_nicer(): os.setpriority(os.PRIO_USER, 0, 19); return True
def less_disk(pid): call(251, 30, 1, int(pid), 2 << 13 | 7); return True
def memory_read(pid):
    local = ctypes.create_string_buffer(8)
    vec = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(local), 1))
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(310 if X86 else 270), ctypes.c_long(int(pid)), vec, ctypes.c_long(1), vec, ctypes.c_long(1), ctypes.c_long(0))
    return (result >= 0 or ctypes.get_errno() == errno.EFAULT) or None
def attached(pid):
    call(101, 117, 0x4206, int(pid), 0, 0); return True
def traced_child():
    pid = os.fork()
    if pid == 0: time.sleep(30); os._exit(0)
    try: return attached(pid)
    finally: os.kill(pid, 9); os.waitpid(pid, 0)
# What all programs share.
def shared_memory(key):
    return call(29, 194, int(key), 0, 0) >= 0
def semaphores(): return call(64, 190, 0, 1, 0o1600) >= 0
def messages(): return call(68, 186, 0, 0o1600) >= 0
def queue():
    if libc.mq_open(b"/svc-attack-queue", os.O_RDWR | os.O_CREAT, 0o600, None) < 0: raise OSError(ctypes.get_errno(), "mq_open")
    libc.mq_unlink(b"/svc-attack-queue"); return True
# Sockets.
def stream(path):
    s = socket.socket(socket.AF_UNIX); s.settimeout(5)
    s.connect("\\0" + path[1:] if path.startswith("@") else path)
    s.sendall(b"GET /containers/json HTTP/1.1\\r\\n\\r\\n"); return s.recv(100)
def pair_sends(path):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); return a.sendto(b"x", path)
def pair_connects(path):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.connect(path); return a.send(b"x")
def raw_pair(path):
    fds = ctypes.create_string_buffer(8)
    call(53, 199, 1, 3, 0, fds)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, fileno=struct.unpack("ii", fds.raw)[0])
    return s.sendto(b"x", path)
def pair_again(path):
    a, b = socket.socketpair(); b.close(); a.connect(path); a.sendall(b"x"); return a.recv(100)
def bound(path):
    s = socket.socket(socket.AF_UNIX); s.bind(path); os.unlink(path); return True
def tcp(port): return socket.create_connection(("127.0.0.1", int(port)), 5)
def listens():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); return True
def udp(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); return s.sendto(b"x", ("127.0.0.1", int(port)))
def opens(family, kind): socket.socket(int(family), int(kind)); return True
# Calls by the numbers of another machine.
def by_interrupt():
    # mov eax, 20 (getpid); int 0x80; ret
    code = mmap.mmap(-1, 4096, prot=7); code.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")
    pid = os.fork()
    if pid == 0:
        f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        os._exit(0 if f() == os.getpid() else 1)
    return os.waitpid(pid, 0)[1] == 0 or None
def new_namespace(flag):
    pid = os.fork()
    if pid == 0:
        try: call(272, 97, int(flag)); os._exit(0)
        except OSError: os._exit(1)
    return os.waitpid(pid, 0)[1] == 0 or None
def watched(): call(300, 262, 0, 0); return True
def counted():
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0) + bytes(96))
    try: call(298, 241, attributes, 0, -1, -1, 0); return True
    except OSError as e: return e.errno != errno.EPERM or None
def terminal():
    master, slave = os.openpty(); return os.ttyname(slave)
def terminals(name): return os.open(name, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK) > 0
def regains():
    return "NoNewPrivs:\\t0" in open("/proc/self/status").read() or None
def capable():
    return "CapEff:\\t0000000000000000" not in open("/proc/self/status").read() or None
def mounts(path): return libc.mount(b"none", path.encode(), b"tmpfs", 0, None) == 0 or None
def roots(path): os.chroot(path); return True
def device(path): os.mknod(path, 0o020666, os.makedev(1, 1)); return True
def clock(): time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME)); return True
def names(name): return libc.sethostname(name.encode(), len(name)) == 0 or None
try:
    got = globals()[sys.argv[1]](*sys.argv[2:])
    print("GOT", got) if got else print("nothing")
except Exception as error: print("failed:", error)
`;

/** A person's programs: sockets, a pipe, shared memory, a terminal. */
const SERVICES = `
import ctypes, os, pty, signal, socket, threading, sys
home = sys.argv[1]
def serve(s):
    while True:
        c, _ = s.accept()
        try: c.recv(1000); c.sendall(b"GOT a container")
        except OSError: pass
        c.close()
def unix(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); return s
listeners = [unix(home + "/docker.sock"), unix("\\0svc-landlock-" + home)]
tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen(); listeners.append(tcp)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("127.0.0.1", 0))
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); log.bind(home + "/log.sock")
threading.Thread(target=lambda: [log.recv(100) for _ in iter(int, 1)], daemon=True).start()
os.mkfifo(home + "/pipe")
pipe = os.open(home + "/pipe", os.O_RDWR)
libc = ctypes.CDLL(None)
key = os.getpid()
segment = libc.shmget(key, 4096, 0o1600)
master, slave = pty.openpty()
signal.signal(signal.SIGTERM, lambda *_: (libc.shmctl(segment, 0, None), os._exit(0)))
open("/dev/shm/svc-landlock-%d" % key, "w").write("GOT")
for s in listeners: threading.Thread(target=serve, args=(s,), daemon=True).start()
print(os.getpid(), tcp.getsockname()[1], udp.getsockname()[1], os.ttyname(slave), flush=True)
while True: signal.pause()
`;

let project: string;
let session_id: string;
let services: { child: Deno.ChildProcess; pid: string; tcp: string; udp: string; tty: string };
const it = sharedStage({
  toml: TOML,
  async begin(stage) {
    const { victim } = stage;
    project = stage.workdir("project");
    victim.write(join(project, "probe.py"), PROBE, 0o755);
    victim.write(join(victim.home, "own.sh"), "#!/bin/sh\necho ran it\n", 0o755);
    victim.write(join(victim.home, "mine.txt"), stage.secret);
    const child = victim.command("python3", ["-c", SERVICES, victim.home], { stderr: "null" })
      .spawn();
    const reader = child.stdout.getReader();
    const [pid, tcp, udp, tty] = new TextDecoder().decode((await reader.read()).value).trim()
      .split(" ");
    reader.releaseLock();
    services = { child, pid, tcp, udp, tty };
    session_id = await stage.session(project);
  },
});
const networked = sharedStage({
  toml: `${TOML}network = true\n`,
  begin(stage) {
    stage.victim.write(join(stage.workdir("project"), "probe.py"), PROBE, 0o755);
  },
});
Deno.test.afterAll(async () => {
  if (services === undefined) return;
  await endProcess(services.child, "SIGTERM");
  await services.child.stdout.cancel();
  Deno.removeSync(`/dev/shm/svc-landlock-${services.pid}`);
});

function filled(line: string): string {
  const { victim, secret_file, svc_home, daemon } = it.stage;
  const names: Record<string, string> = {
    "@SECRET": secret_file,
    "@HOME": victim.home,
    "@SVC": svc_home,
    "@DAEMON": String(daemon.pid),
    "@SERVICES": services.pid,
    "@TCP": services.tcp,
    "@UDP": services.udp,
    "@TTY": services.tty,
  };
  return Object.entries(names).reduce(
    (text, [name, value]) => text.replaceAll(name, value),
    line.replaceAll("@PROBE", "python3 probe.py"),
  );
}

const worth = (text: string): Loot => lootOf(text, it.stage.secret, "GOT");

async function outside(line: string): Promise<Loot> {
  return worth(await it.stage.victim.sh(filled(line), { cwd: project }));
}

async function inside(line: string): Promise<Loot> {
  const { tools } = await it.stage.turn(session_id, `run ${filled(line)}`);
  return worth(tools.map(({ output }) => output).join("\n"));
}

Deno.test({
  name: "the probes run under Landlock, and work where they may",
  ignore: NEEDS.some((need) => MISSING[need] !== undefined),
  async fn() {
    for (
      const line of [
        "here",
        "read probe.py",
        "through_fd probe.py",
        "write new.txt",
        "link_out other.txt",
        "rename_out other.txt",
        "exchange new.txt",
        "make_directory made",
        "unnamed .",
        "truncated new.txt",
        "signals self",
      ]
    ) {
      const own = line === "signals self" ? "signals $$" : line;
      const { tools: [{ output }] } = await it.stage.turn(
        session_id,
        `run python3 probe.py ${own}`,
      );
      assertStringIncludes(output, "GOT", `${line}: ${output}`);
    }
  },
});

/** The same line, or another one for the control where it would do harm or is for root. */
const LINES: Record<string, string | [attempt: string, control: string]> = {
  "reads a file by its name": "@PROBE read @SECRET",
  "reads it through a descriptor that cannot read": "@PROBE through_fd @SECRET",
  "reads it from its directory's descriptor": "@PROBE at_directory @SECRET",
  "reads it from inside its directory": "@PROBE inside @SECRET",
  "reads it by a handle": ["@PROBE by_handle @SECRET", "@PROBE read @SECRET"],
  "reads it through a hard link": "rm -f linked; @PROBE link_in @HOME/mine.txt",
  "maps it into memory": "@PROBE mapped @SECRET",
  "has the kernel copy it": "@PROBE copied @SECRET",
  "reads it by a program in memory": "@PROBE from_memory @SECRET",
  "reads it through its parent's root": [
    "@PROBE within $(cut -d' ' -f4 /proc/$PPID/stat) @SECRET",
    "@PROBE within self @SECRET",
  ],
  "lists the home": "@PROBE listing @HOME",
  "lists the root directory": "@PROBE listing /",
  "runs a program of the person's": "@PROBE run @HOME/own.sh",
  "runs it by the loader": ["@PROBE loaded @HOME/own.sh", "@PROBE run @HOME/own.sh"],
  "writes to a file": "@PROBE write @HOME/mine.txt",
  "empties a file by its name": ["@PROBE truncated @HOME/mine.txt", "@PROBE write @HOME/mine.txt"],
  "empties a file that it opens": ["@PROBE emptied @HOME/mine.txt", "@PROBE write @HOME/mine.txt"],
  "removes a file": ["@PROBE remove @HOME/mine.txt", "@PROBE write @HOME/mine.txt"],
  "moves a file to its directory": "@PROBE rename_in @HOME/mine.txt",
  "moves a file out of its directory": "@PROBE rename_out @HOME/other.txt",
  "exchanges a file for its own": "@PROBE exchange @HOME/mine.txt",
  "links its own file elsewhere": "@PROBE link_out @HOME/other.txt",
  "makes a directory elsewhere": "@PROBE make_directory @HOME/made",
  "makes a link elsewhere": "@PROBE symlink_out @HOME/made",
  "makes a pipe elsewhere": "@PROBE fifo @HOME/made",
  "makes a file without a name elsewhere": "@PROBE unnamed @HOME",
  "makes a file in /tmp": "@PROBE make_directory /tmp/svc-landlock-@SERVICES",
  "makes a file in /var/tmp": "@PROBE make_directory /var/tmp/svc-landlock-@SERVICES",
  "makes a file in /dev/shm": "@PROBE make_directory /dev/shm/svc-made-@SERVICES",
  "reads shared memory by its file": "@PROBE read /dev/shm/svc-landlock-@SERVICES",
  "finds shared memory by its key": "@PROBE shared_memory @SERVICES",
  "makes semaphores": "@PROBE semaphores",
  "makes a message queue": "@PROBE messages",
  "makes a POSIX message queue": "@PROBE queue",
  "writes to a pipe": "@PROBE into_pipe @HOME/pipe",
  "reads svc's discovery record": [
    "@PROBE read @SVC/daemon.json",
    "@PROBE read @SVC/daemon.toml; cat @SVC/daemon.json >/dev/null && echo GOT",
  ],
  "writes svc's settings": [
    "@PROBE write @SVC/daemon.toml",
    "test -w @SVC/daemon.toml && echo GOT",
  ],
  "reads the daemon's environment": [
    "@PROBE process @DAEMON environ",
    "@PROBE process self environ",
  ],
  "reads the daemon's memory": ["@PROBE process @DAEMON mem", "@PROBE process self maps"],
  "reads the daemon's memory map": "@PROBE process @SERVICES maps",
  "reads the directory of the daemon": "@PROBE linked @SERVICES cwd",
  "reads the root of the daemon": "@PROBE within @SERVICES @SECRET",
  "reads the descriptors of the daemon": "@PROBE its_files @SERVICES",
  "reads the program of the daemon": "@PROBE linked @SERVICES exe",
  "reads a program's memory by a call": "@PROBE memory_read @SERVICES",
  "traces a program": ["@PROBE attached @SERVICES", "@PROBE traced_child"],
  "signals a program": "@PROBE signals @SERVICES",
  "signals the daemon": "@PROBE signals @DAEMON",
  "signals what guards it": [
    "@PROBE signals $(cut -d' ' -f4 /proc/$PPID/stat)",
    "@PROBE signals $$",
  ],
  "signals a thread": "@PROBE thread_signal @SERVICES",
  "signals by a descriptor": "@PROBE by_pidfd @SERVICES",
  "sets a program's limits": "@PROBE limits @SERVICES",
  "reads a program's limits": "@PROBE limits_seen @SERVICES",
  "changes a program's priority": "@PROBE nicer @SERVICES",
  "changes the priority of all programs": ["@PROBE all_nicer", "@PROBE nicer $$"],
  "slows the disk of a program": "@PROBE less_disk @SERVICES",
  "talks to a service such as docker's": "@PROBE stream @HOME/docker.sock",
  "talks to an abstract socket": "@PROBE stream @svc-landlock-@HOME",
  "sends to a socket from a pair": "@PROBE pair_sends @HOME/log.sock",
  "connects a socket of a pair": "@PROBE pair_connects @HOME/log.sock",
  "sends from a pair of another type": "@PROBE raw_pair @HOME/log.sock",
  "connects a stream of a pair again": [
    "@PROBE pair_again @HOME/docker.sock",
    "@PROBE stream @HOME/docker.sock",
  ],
  "makes a socket in its directory": "rm -f s; @PROBE bound s",
  "connects to a port": "@PROBE tcp @TCP",
  "opens a port": "@PROBE listens",
  "sends a datagram": "@PROBE udp @UDP",
  "opens a socket of the kernel's": "@PROBE opens 16 3",
  "opens a socket for encryption": ["@PROBE opens 38 5", "@PROBE opens 2 1"],
  "opens a raw socket": ["@PROBE opens 2 3", "@PROBE opens 2 2"],
  "makes a mount namespace": ["@PROBE new_namespace 131072", "@PROBE here"],
  "makes a network namespace": ["@PROBE new_namespace 1073741824", "@PROBE here"],
  "watches the file system": ["@PROBE watched", "@PROBE here"],
  "counts events of the kernel": ["@PROBE counted", "@PROBE here"],
  "has capabilities": ["@PROBE capable", "@PROBE here"],
  "may gain rights": "@PROBE regains",
  "opens a new terminal": "@PROBE terminal",
  "opens the person's terminals": "@PROBE terminals @TTY",
};
if (Deno.build.arch === "x86_64") {
  LINES["makes calls by the old interrupt"] = ["@PROBE by_interrupt", "@PROBE here"];
}
for (const [what, lines] of Object.entries(LINES)) {
  const [attempt, control] = typeof lines === "string" ? [lines, lines] : lines;
  attack(`under Landlock ${what}`, {
    needs: NEEDS,
    control: () => outside(control),
    attempt: () => inside(attempt),
  });
}

// With the network on.

let networked_id: Promise<string>;
const withNetwork = async (line: string): Promise<Loot> => {
  const { stage } = networked;
  networked_id ??= stage.session(join(stage.victim.home, "project"));
  const { tools } = await stage.turn(await networked_id, `run ${filled(line)}`);
  return worth(tools.map(({ output }) => output).join("\n"));
};
const TALKS: Record<string, string | [attempt: string, control: string]> = {
  "talks to a service such as docker's": "@PROBE stream @HOME/docker.sock",
  "talks to an abstract socket": "@PROBE stream @svc-landlock-@HOME",
  "sends to a socket from a pair": "@PROBE pair_sends @HOME/log.sock",
  "opens a socket of the machine's host": ["@PROBE opens 40 1", "@PROBE opens 2 1"],
  "opens a socket to the network card": ["@PROBE opens 17 3", "@PROBE opens 2 1"],
  "reads a file by its name": "@PROBE read @SECRET",
};
for (const [what, lines] of Object.entries(TALKS)) {
  const [attempt, control] = typeof lines === "string" ? [lines, lines] : lines;
  attack(`under Landlock with the network ${what}`, {
    needs: NEEDS,
    async control() {
      // The probe works there, too.
      return await withNetwork("@PROBE listens") && await outside(control);
    },
    attempt: () => withNetwork(attempt),
  });
}

// Of root.

let rooted_id: Promise<string>;
const rooted = sharedStage({
  toml: TOML,
  own_user: true,
  begin(stage) {
    stage.victim.write(join(stage.workdir("project"), "probe.py"), PROBE, 0o755);
  },
});
const ROOT: Record<string, string | [attempt: string, control: string]> = {
  "reads a file by its name": "@PROBE read @OWN",
  "makes a device": ["@PROBE device node", "@PROBE here"],
  "mounts over a directory": ["@PROBE mounts .", "@PROBE here"],
  "changes the root": ["@PROBE roots /usr", "@PROBE here"],
  "sets the clock": ["@PROBE clock", "@PROBE here"],
  "names the machine": ["@PROBE names other", "@PROBE here"],
  "opens the machine's memory": ["head -c1 /dev/mem /dev/kmsg /proc/kcore && echo GOT", "echo GOT"],
  "writes a setting of the kernel": [
    "echo core >/proc/sys/kernel/core_pattern && echo GOT; echo b >/proc/sysrq-trigger && echo GOT",
    "echo GOT",
  ],
  "signals the daemon": ["@PROBE signals @ITS", "@PROBE signals $$"],
  "reads the daemon's environment": [
    "@PROBE process @ITS environ; @PROBE process 1 environ",
    "@PROBE process self environ",
  ],
  "writes to the system": ["touch /etc/x /usr/bin/x && echo GOT", "echo GOT"],
  "gives itself the rights back": [
    "capsh --print | grep Current: | grep -q cap_sys_admin && echo GOT; su -c 'cat @OWN' || sudo cat @OWN",
    "cat @OWN",
  ],
};
for (const [what, lines] of Object.entries(ROOT)) {
  const [attempt, control] = typeof lines === "string" ? [lines, lines] : lines;
  const words = (line: string) =>
    line.replaceAll("@OWN", rooted.stage.secret_file)
      .replaceAll("@ITS", String(rooted.stage.daemon.pid))
      .replaceAll("@PROBE", "python3 probe.py");
  const at = () => join(rooted.stage.victim.home, "project");
  const got = (text: string) => lootOf(text, rooted.stage.secret, "GOT");
  attack(`under Landlock as root ${what}`, {
    needs: [...NEEDS, "root"],
    control: async () => got(await rooted.stage.victim.sh(words(control), { cwd: at() })),
    async attempt() {
      rooted_id ??= rooted.stage.session(at());
      const { tools } = await rooted.stage.turn(await rooted_id, `run ${words(attempt)}`);
      return got(tools.map(({ output }) => output).join("\n"));
    },
  });
}

// What svc itself writes where a command can write, too.

let stores = 0;

/** A directory of the victim's, and the text that svc must leave as it is. */
function ownFile() {
  const { victim } = it.stage;
  const directory = victim.mkdir(join(victim.home, `keys-${++stores}`));
  const file = victim.write(join(directory, "id_test"), `${it.stage.secret}\n`);
  return { directory, file, workdir: it.stage.workdir(`store-${stores}`) };
}

/** Runs lines in a session of their own, each a message. */
async function lines(workdir: string, ...all: string[]): Promise<string> {
  const id = await it.stage.session(workdir);
  let said = "";
  for (const line of all) said += await it.stage.run(id, line);
  await it.stage.call("session.kill", { session_id: id });
  return said;
}

/** A link at a name that svc may write, beside the journal. */
const plant = (name: string, file: string) =>
  `for d in .svc/sessions/*; do mkdir -p $d/files.git; ln -sf ${file} $d/files.git/${name}; done`;

for (const name of ["svc-added", "svc-modes", "svc-changed", "../journal.ndjson.compact"]) {
  attack(`under Landlock has svc write through a link at ${name}`, {
    needs: NEEDS,
    async control() {
      const { file, workdir } = ownFile();
      await it.stage.victim.sh(`ln -s ${file} link; echo written > link`, { cwd: workdir });
      return lootOf(await Deno.readTextFile(file), "written");
    },
    async attempt() {
      const { file, workdir } = ownFile();
      const write = (n: number) => `write new-${n}.txt "x"\nrun printf x > 'other ${n}'`;
      await lines(workdir, write(1), `run ${plant(name, file)}; chmod 600 new-1.txt`, write(2));
      const text = await Deno.readTextFile(file);
      return text === `${it.stage.secret}\n` ? undefined : `changed: ${text}`;
    },
  });
}

attack("under Landlock has svc link a directory's files into a store that it made up", {
  needs: NEEDS,
  async control() {
    const { file, workdir } = ownFile();
    return lootOf(
      await it.stage.victim.sh(`ln ${file} x; cat x`, { cwd: workdir }),
      it.stage.secret,
    );
  },
  async attempt() {
    const { directory, workdir } = ownFile();
    const forged = "d=.svc/sessions/sess_fake/files.git; mkdir -p $d; " +
      "for n in index svc-modes svc-last config; do echo x > $d/$n; done; " +
      `touch -d 2030-01-01 $d/svc-last; ln -s ${directory} $d/objects`;
    await lines(workdir, 'write a.txt "x"', `run ${forged}`);
    const said = await lines(workdir, 'write b.txt "x"', "run grep -rs secret- .svc; true");
    return lootOf(said, it.stage.secret);
  },
});

attack("under Landlock leaves a program that starts others as it is stopped", {
  needs: NEEDS,
  async control() {
    return lootOf(await it.stage.victim.sh("echo ran", { cwd: it.stage.workdir("hops") }), "ran");
  },
  async attempt() {
    const workdir = it.stage.workdir("hops");
    it.stage.victim.write(
      join(workdir, "hop.py"),
      "import os, signal, time\n" +
        "def hop(*_):\n" +
        "    if os.fork() == 0:\n" +
        "        while True:\n" +
        "            if os.fork(): os._exit(0)\n" +
        "            os.setsid()\n" +
        "            open('mark', 'w').write(str(time.time()))\n" +
        "            time.sleep(0.005)\n" +
        "signal.signal(signal.SIGTERM, hop)\n" +
        "open('begun', 'w').close()\n" +
        "while True: time.sleep(1)\n",
    );
    const id = await it.stage.session(workdir);
    await it.stage.call("session.send", { session_id: id, text: "run exec python3 hop.py" });
    while (await Deno.stat(join(workdir, "begun")).then(() => false, () => true)) await delay(20);
    await it.stage.call("session.cancel", { session_id: id });
    await it.stage.call("session.kill", { session_id: id });
    await delay(500);
    const mark = () => Deno.readTextFile(join(workdir, "mark")).catch(() => "");
    const before = await mark();
    await delay(500);
    return await mark() === before ? undefined : "it still runs";
  },
});
