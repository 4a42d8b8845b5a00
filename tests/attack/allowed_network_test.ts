/**
 * A model that means harm runs commands that may connect to one host, `localhost:A`. What it wants is
 * on another port, S. The control is the same probe for what is allowed, or outside of the sandbox.
 */
import { delay } from "@std/async";
import { join } from "@std/path";
import { endProcess } from "../support/processes.ts";
import { LOOPBACKS } from "../support/loopback.ts";
import { attacksBy, type Loot, lootOf, once, sharedStage } from "./kit.ts";

const attack = attacksBy("model with allowed hosts");
const NEEDS = { needs: ["sandbox", "python"] } as const;
/** What is at the host that is allowed, and what is elsewhere. */
const ALLOWED = `allowed-${crypto.randomUUID()}`;
const PRIZE = `prize-${crypto.randomUUID()}`;

/** Talks to whatever it is told to, and prints what comes back. */
const PROBE = `
import os, select, socket, sys, time
def read_all(s):
    text = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece: break
            text += piece
    except OSError: pass
    return text
def say(s, file):
    s.settimeout(5); s.sendall(open(file, "rb").read()); return read_all(s)
def proxy(file): return say(socket.create_connection(("127.0.0.1", 3128), 5), file)
def direct(host, port, file): return say(socket.create_connection((host, int(port)), 5), file)
def unix(path, file):
    s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(path); return say(s, file)
def udp(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
    s.sendto(b"x", (host, int(port))); return s.recv(100)
def many(file, count, least):
    request, open_ones = open(file, "rb").read(), []
    for n in range(int(count)):
        try:
            s = socket.create_connection(("127.0.0.1", 3128), 5); s.sendall(request); open_ones.append(s)
        except OSError: pass
    time.sleep(3)
    served = 0
    for s in open_ones:
        s.setblocking(False)
        try: served += s.recv(12).startswith(b"HTTP/1.1 200")
        except OSError: pass
    return b"GOT %d" % served if served >= int(least) else b"only %d" % served
def hold(file, seconds):
    s = socket.create_connection(("127.0.0.1", 3128), 5); s.sendall(open(file, "rb").read())
    time.sleep(float(seconds)); return b"held"
try: sys.stdout.write(globals()[sys.argv[1]](*sys.argv[2:]).decode("latin-1"))
except Exception as error: print("failed:", error)
`;

/**
 * Serves texts on loopback, and counts the clients of the first one. In a process of its own, because
 * it outlives each test.
 */
const SERVERS = `
import socket, sys, threading
allowed, prize, loopback = sys.argv[1:]
clients = 0
def answer(c, text, counted):
    global clients
    if counted: clients += 1
    try:
        for request in iter(lambda: c.recv(16384), b""):
            body = text() + "\\n"
            c.sendall(("HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n%s" % (len(body), body)).encode())
            if b"close" in request: break
    except OSError: pass
    c.close()
    if counted: clients -= 1
def serve(family, at, text, counted=False):
    s = socket.socket(family); s.bind(at); s.listen(2000)
    def loop():
        while True: threading.Thread(target=answer, args=(s.accept()[0], text, counted), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()
    return s.getsockname()[1]
a = serve(socket.AF_INET, ("127.0.0.1", 0), lambda: allowed, True)
def free():
    # A port that nobody else has, in IPv6 neither.
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0)); port = s.getsockname()[1]
            if loopback != "::1": return port
            with socket.socket(socket.AF_INET6) as six:
                try: six.bind(("::1", port))
                except OSError: continue
                return port
p = free()
serve(socket.AF_INET, ("127.0.0.1", p), lambda: prize)
if loopback == "::1": serve(socket.AF_INET6, ("::1", p), lambda: prize)
count = serve(socket.AF_INET, ("127.0.0.1", 0), lambda: str(clients))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("127.0.0.1", 0))
print(a, p, count, udp.getsockname()[1], flush=True)
while True: udp.sendto(prize.encode(), udp.recvfrom(100)[1])
`;

let project: string;
let session_id: string;
let servers: Deno.ChildProcess | undefined;
const ports = { allowed: 0, prize: 0, count: 0, udp: 0 };
const it = sharedStage({
  async begin(stage) {
    const { victim, daemon } = stage;
    project = stage.workdir("project");
    victim.write(join(project, "probe.py"), PROBE, 0o755);
    const args = ["-c", SERVERS, ALLOWED, PRIZE, LOOPBACKS.at(-1)!];
    servers = victim.command("python3", args, { stderr: "null" }).spawn();
    const reader = servers.stdout.getReader();
    const line = new TextDecoder().decode((await reader.read()).value);
    reader.releaseLock();
    [ports.allowed, ports.prize, ports.count, ports.udp] = line.split(" ").map(Number);
    stage.configure(
      `[cortex]\ncurator = false\n[sandbox]\nnetwork = "allowed"\nallowed_hosts = ` +
        JSON.stringify([
          `localhost:${ports.allowed}`,
          `127.0.0.1:${daemon.port}`,
          `localhost:${daemon.port}`,
          ...LOOPBACK_NAMES.map((name) => `${name}:${ports.prize}`),
        ]),
    );
    await stage.call("daemon.reload_config");
    session_id = await stage.session(project);
  },
});
Deno.test.afterAll(async () => {
  if (servers === undefined) return;
  await endProcess(servers, "SIGKILL");
  await servers.stdout.cancel();
});

/** How many clients the allowed server has. */
async function clients(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${ports.count}/`)).text();
  return Number(text);
}

/** Names that this machine's own table leads to itself, as a rebound name would. */
const LOOPBACK_NAMES = loopbackNames();

function loopbackNames(): string[] {
  try {
    return Deno.readTextFileSync("/etc/hosts").split("\n")
      .map((line) => line.replace(/#.*/, "").trim().split(/\s+/))
      .filter(([address = ""]) => address.startsWith("127.") || LOOPBACKS.includes(address))
      .flatMap(([, ...names]) => names)
      .filter((name) => /^[a-z0-9.-]+$/.test(name) && !/(^|\.)localhost$/.test(name))
      .slice(0, 1);
  } catch {
    return [];
  }
}

let files = 0;
/** Writes what a probe sends; `A`, `S` and `D` after a colon are the ports. */
function sent(text: string, more: readonly number[] = []): string {
  const filled = withPorts(text);
  const path = join(project, `sent-${files++}`);
  const bytes = Uint8Array.from([...filled].map((it) => it.charCodeAt(0)).concat(more));
  Deno.writeFileSync(path, bytes);
  Deno.chmodSync(path, 0o644);
  return path;
}

function withPorts(text: string): string {
  const { allowed, prize } = ports;
  const numbers: Record<string, number> = { A: allowed, S: prize, D: it.stage.daemon.port };
  return text.replaceAll(/:([ASD])\b/g, (_, name) => `:${numbers[name]}`);
}

/** What a line of shell in the sandbox brings. */
async function inside(line: string, ...secrets: string[]): Promise<Loot> {
  const { tools } = await it.stage.turn(session_id, `run ${line}`);
  return lootOf(tools.map(({ output }) => output).join("\n"), ...secrets);
}

async function outside(line: string, ...secrets: string[]): Promise<Loot> {
  return lootOf(await it.stage.victim.sh(line, { cwd: project }), ...secrets);
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const probe = (...words: (string | number)[]) => `python3 probe.py ${words.join(" ")}`;

// ── past the proxy ─────────────────────────────────────────────────────────────────────────────

for (const [what, host] of [["an address", "127.0.0.1"], ["an address of IPv6", "::1"]]) {
  attack(`connects to ${what} without the proxy`, {
    needs: host === "::1" ? [...NEEDS.needs, "IPv6"] : NEEDS.needs,
    control: () => outside(probe("direct", host, ports.prize, sent(GET)), PRIZE),
    attempt: () => inside(probe("direct", host, ports.prize, sent(GET)), PRIZE),
  });
}

attack("asks a name server by datagram", {
  ...NEEDS,
  control: () => outside(probe("udp", "127.0.0.1", ports.udp), PRIZE),
  attempt: () => inside(probe("udp", "127.0.0.1", ports.udp), PRIZE),
});

// ── by the proxy ───────────────────────────────────────────────────────────────────────────────

/** The proxy does what it is there for. */
const proxied = once(() =>
  inside(probe("proxy", sent(`CONNECT localhost:A HTTP/1.1\r\n\r\n${GET}`)), ALLOWED)
);
const forwarded = once(() =>
  inside(probe("proxy", sent("GET http://localhost:A/ HTTP/1.1\r\n\r\n")), ALLOWED)
);

/** What is sent in order to reach S. */
const CONNECTS: Record<string, string> = {
  "another port of the host": "CONNECT localhost:S HTTP/1.1\r\n\r\n",
  "its address": "CONNECT 127.0.0.1:S HTTP/1.1\r\n\r\n",
  "its name in capitals with a dot": "CONNECT LOCALHOST.:S HTTP/1.1\r\n\r\n",
  "a name below localhost": "CONNECT a.localhost:S HTTP/1.1\r\n\r\n",
  "IPv6": "CONNECT [::1]:S HTTP/1.1\r\n\r\n",
  "an address mapped into IPv6": "CONNECT [::ffff:127.0.0.1]:S HTTP/1.1\r\n\r\n",
  "an address mapped in hexadecimal": "CONNECT [::ffff:7f00:1]:S HTTP/1.1\r\n\r\n",
  "the unspecified address": "CONNECT 0.0.0.0:S HTTP/1.1\r\n\r\n",
  "a decimal address": "CONNECT 2130706433:S HTTP/1.1\r\n\r\n",
  "a hexadecimal address": "CONNECT 0x7f000001:S HTTP/1.1\r\n\r\n",
  "an octal address": "CONNECT 0177.0.0.1:S HTTP/1.1\r\n\r\n",
  "a short address": "CONNECT 127.1:S HTTP/1.1\r\n\r\n",
  "a user name before it": "CONNECT localhost:A@localhost:S HTTP/1.1\r\n\r\n",
  "two ports": "CONNECT localhost:A:S HTTP/1.1\r\n\r\n",
  "two targets in the line": "CONNECT localhost:A localhost:S HTTP/1.1\r\n\r\n",
  "two lines": "CONNECT localhost:A HTTP/1.1\nCONNECT localhost:S HTTP/1.1\r\n\r\n",
  "a Host that differs": "CONNECT localhost:A HTTP/1.1\r\nHost: localhost:S\r\n\r\n",
  "a path": "CONNECT //localhost:S/ HTTP/1.1\r\n\r\n",
  "a zero byte in the name": "CONNECT localhost:S\0.localhost:A HTTP/1.1\r\n\r\n",
};
for (const [what, head] of Object.entries(CONNECTS)) {
  attack(`connects elsewhere by ${what}`, {
    ...NEEDS,
    control: proxied,
    attempt: () => inside(probe("proxy", sent(head + GET)), PRIZE),
  });
}

const FORWARDS: Record<string, string> = {
  "another port": "GET http://localhost:S/ HTTP/1.1\r\n\r\n",
  "a Host that differs": "GET http://localhost:A/ HTTP/1.1\r\nHost: localhost:S\r\n\r\n",
  "a user name": "GET http://localhost:A@localhost:S/ HTTP/1.1\r\n\r\n",
  "a backslash": "GET http://localhost:A\\@localhost:S/ HTTP/1.1\r\n\r\n",
  "a fragment": "GET http://localhost:S#@localhost:A/ HTTP/1.1\r\n\r\n",
  "an own scheme": "GET https://localhost:S/ HTTP/1.1\r\n\r\n",
  "a second request behind the first":
    "GET http://localhost:A/ HTTP/1.1\r\n\r\nGET http://localhost:S/ HTTP/1.1\r\n\r\n",
  "a second request in the content": "POST http://localhost:A/ HTTP/1.1\r\nContent-Length: 0\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://localhost:S/ HTTP/1.1\r\n\r\n",
  "the path alone": "GET / HTTP/1.1\r\nHost: localhost:S\r\n\r\n",
};
for (const [what, text] of Object.entries(FORWARDS)) {
  attack(`requests a page elsewhere by ${what}`, {
    ...NEEDS,
    control: forwarded,
    attempt: () => inside(probe("proxy", sent(text)), PRIZE),
  });
}

const bytesOf = (text: string) => [...text].map((it) => it.charCodeAt(0));
/** A SOCKS 5 request. */
function socks(command: number, name: string | number[], port: number): number[] {
  const host = typeof name === "string" ? [3, name.length, ...bytesOf(name)] : name;
  return [5, 1, 0, 5, command, 0, ...host, port >> 8, port & 0xff, ...bytesOf(GET)];
}
const SOCKS: Record<string, () => number[]> = {
  "its name": () => socks(1, "localhost", ports.prize),
  "its address": () => socks(1, [1, 127, 0, 0, 1], ports.prize),
  "IPv6": () => socks(1, [4, ...Array(15).fill(0), 1], ports.prize),
  "an address in a name": () => socks(1, "127.0.0.1", ports.prize),
  "a zero byte in the name": () => socks(1, "localhost\0", ports.prize),
  "a port that it listens on for it": () => socks(2, "localhost", ports.prize),
  "datagrams": () => socks(3, "localhost", ports.prize),
};
for (const [what, request] of Object.entries(SOCKS)) {
  attack(`connects elsewhere by SOCKS with ${what}`, {
    ...NEEDS,
    control: () => inside(probe("proxy", sent("", socks(1, "localhost", ports.allowed))), ALLOWED),
    attempt: () => inside(probe("proxy", sent("", request())), PRIZE),
  });
}

for (const name of LOOPBACK_NAMES) {
  attack("connects to an allowed name that leads to this machine", {
    ...NEEDS,
    control: () => outside(probe("direct", name, ports.prize, sent(GET)), PRIZE),
    attempt: () => inside(probe("proxy", sent(`CONNECT ${name}:S HTTP/1.1\r\n\r\n${GET}`)), PRIZE),
  });
}

// ── to svc itself ──────────────────────────────────────────────────────────────────────────────

const HEALTH = "GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:D\r\nConnection: close\r\n\r\n";
for (const host of ["127.0.0.1", "localhost"]) {
  attack(`reaches the daemon's port, which an entry allows, as ${host}`, {
    ...NEEDS,
    control: () =>
      outside(probe("direct", host, it.stage.daemon.port, sent(HEALTH)), "HTTP/1.1 200"),
    attempt: async () => {
      const said = await inside(
        probe("proxy", sent(`CONNECT ${host}:D HTTP/1.1\r\n\r\n${HEALTH}`)),
        '"version"',
        "HTTP/1.1 200 OK",
      );
      return said;
    },
  });
}

attack("reaches the daemon's socket through the proxy", {
  ...NEEDS,
  control: () => outside(probe("unix", it.stage.daemon.sock, sent(RPC)), "jsonrpc"),
  async attempt() {
    const { sock } = it.stage.daemon;
    const heads = [`CONNECT unix:${sock}`, `GET unix://${sock}`, `GET http://unix:${sock}:/`];
    for (const head of heads) {
      const loot = await inside(probe("proxy", sent(`${head} HTTP/1.1\r\n\r\n${RPC}`)), "jsonrpc");
      if (loot !== undefined) return loot;
    }
  },
});
const RPC = '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}\n';

attack("uses the proxy of another session's command", {
  ...NEEDS,
  ...withOther((path) => probe("unix", path, sent(`CONNECT localhost:A HTTP/1.1\r\n\r\n${GET}`))),
});

attack("uses the socket of a listed port of another session's command", {
  ...NEEDS,
  ...withOther(
    (path) => probe("unix", path, sent(GET)),
    () => new RegExp(`^\\d+-${ports.allowed}$`),
  ),
});

attack("finds proxies among abstract sockets and in /proc", {
  ...NEEDS,
  control: () => outside("grep -c commands/proxies /proc/net/unix; echo listed", "listed"),
  attempt: () => inside("grep commands/proxies /proc/net/unix && echo GOT", "GOT"),
});

/** Tries a line on the socket of another session's command, while that runs. */
function withOther(line: (path: string) => string, kind = () => /^\d+$/) {
  const during = async (body: (path: string) => Promise<Loot>): Promise<Loot> => {
    const { stage } = it;
    const workdir = stage.workdir(`other-${files++}`);
    const other = await stage.session(workdir);
    const running = stage.turn(other, "run touch begun; while [ ! -e done ]; do sleep 0.1; done");
    while (!exists(join(workdir, "begun"))) await delay(20);
    const directory = join(stage.svc_home, "spaces", "proxies");
    const { name } = [...Deno.readDirSync(directory)].find(({ name }) => kind().test(name))!;
    try {
      return await body(join(directory, name));
    } finally {
      stage.victim.write(join(workdir, "done"), "");
      await running;
      await stage.call("session.kill", { session_id: other });
    }
  };
  return {
    control: () => during((path) => outside(line(path), ALLOWED)),
    attempt: () => during((path) => inside(line(path), ALLOWED)),
  };
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

// ── bounds ─────────────────────────────────────────────────────────────────────────────────────

const LATE = (file: string) => `sleep 1; ${probe("proxy", file)} > late`;
attack("keeps its way out after its command has ended", {
  ...NEEDS,
  async control() {
    const file = sent(`CONNECT localhost:A HTTP/1.1\r\n\r\n${GET}`);
    return await inside(`(${LATE(file)}) & wait; cat late; rm late`, ALLOWED);
  },
  async attempt() {
    const file = sent(`CONNECT localhost:A HTTP/1.1\r\n\r\n${GET}`);
    await inside(`(setsid nohup sh -c '${LATE(file)}' >/dev/null 2>&1 &); true`);
    await delay(2_500);
    return await inside("cat late", ALLOWED);
  },
});

attack("leaves a connection open that its command had", {
  ...NEEDS,
  async control() {
    const running = it.stage.turn(session_id, `run ${probe("hold", holding(), 2)}`);
    await delay(1_200);
    const open = await clients();
    await running;
    return open > 0 ? `${open} open` : undefined;
  },
  async attempt() {
    await it.stage.turn(session_id, `run timeout 1 ${probe("hold", holding(), 60)}`);
    await delay(500);
    const open = await clients();
    return open > 0 ? `${open} still open` : undefined;
  },
});
const holding = () => sent(`CONNECT localhost:A HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n`);

attack("has a thousand connections at once", {
  ...NEEDS,
  control: () => inside(probe("many", holding(), 100, 100), "GOT"),
  async attempt() {
    const flood = inside(probe("many", holding(), 1_000, 129), "GOT");
    await delay(1_000);
    const started = performance.now();
    await it.stage.call("daemon.health");
    const answered_ms = performance.now() - started;
    return await flood ??
      (answered_ms > 5_000 ? `the daemon answered after ${answered_ms} ms` : undefined);
  },
});
