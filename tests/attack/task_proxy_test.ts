/**
 * What a task fetches goes through a proxy of its own on loopback. While it waits for an answer, other
 * programs of the same user look for that proxy and want a connection from it. The control is the same
 * probe beside a proxy that serves everyone.
 */
import { endProcess } from "../support/processes.ts";
import { attacksBy, type Loot, lootOf, sharedStage } from "./kit.ts";

const attack = attacksBy("program beside a task");
const NEEDS = { needs: ["sandbox", "python"] } as const;
const PRIZE = `prize-${crypto.randomUUID()}`;

/** Asks every listener of this user, as a SOCKS 5 proxy, for the server at a port. */
const PROBE = `
import os, socket, sys
def listeners():
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        field = line.split()
        host, port = field[1].split(":")
        mine = field[3] == "0A" and field[7] == str(os.getuid())
        if mine and host == "0100007F": yield int(port, 16)
def through(proxy, port):
    with socket.create_connection(("127.0.0.1", proxy), 2) as s:
        s.settimeout(2)
        s.sendall(b"\\x05\\x01\\x00")
        if s.recv(2) != b"\\x05\\x00": return ""
        s.sendall(b"\\x05\\x01\\x00\\x01" + socket.inet_aton("127.0.0.1") + port.to_bytes(2, "big"))
        if s.recv(10)[1:2] != b"\\x00": return ""
        s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
        return b"".join(iter(lambda: s.recv(4096), b"")).decode("latin-1")
for proxy in set(listeners()) - {int(sys.argv[1])}:
    try: print(through(proxy, int(sys.argv[1])))
    except OSError as error: print(proxy, error)
`;

/** A SOCKS 5 proxy for everyone, which is one connection at a time. */
const OPEN_PROXY = `
import socket, threading
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
def pump(a, b):
    try:
        for piece in iter(lambda: a.recv(4096), b""): b.sendall(piece)
        b.shutdown(socket.SHUT_WR)
    except OSError: pass
while True:
    c, _ = s.accept()
    try:
        c.recv(3); c.sendall(b"\\x05\\x00"); asked = c.recv(10)
        to = socket.create_connection((socket.inet_ntoa(asked[4:8]), int.from_bytes(asked[8:], "big")))
        c.sendall(b"\\x05\\x00\\x00\\x01" + bytes(6))
        threading.Thread(target=pump, args=(c, to), daemon=True).start()
        pump(to, c)
    except OSError: pass
    c.close()
`;

const it = sharedStage({ toml: "[sandbox]\nnetwork = true\n", hostile_model: true });

/** A server that has the prize, and one that answers when it is told to. */
class Sites implements AsyncDisposable {
  readonly #asked = Promise.withResolvers<void>();
  readonly #answer = Promise.withResolvers<void>();
  readonly #prize = site(() => new Response(PRIZE));
  readonly #slow = site(async () => {
    this.#asked.resolve();
    await this.#answer.promise;
    return new Response("at last");
  });

  get prize(): number {
    return this.#prize.addr.port;
  }

  get slow(): string {
    return `http://127.0.0.1:${this.#slow.addr.port}/`;
  }

  /** Resolves when somebody waits for the slow one. */
  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  answer(): void {
    this.#answer.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.answer();
    await Promise.all([this.#prize.shutdown(), this.#slow.shutdown()]);
  }
}

function site(answer: () => Response | Promise<Response>): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
}

const line = (port: number) => `python3 probe.py ${port}`;

/** What a program brings that runs while a session fetches something; the fetch must succeed. */
async function beside(run: (project: string, port: number) => Promise<string>): Promise<Loot> {
  await using sites = new Sites();
  const { stage } = it;
  const project = stage.workdir(`project-${sites.prize}`);
  stage.victim.write(`${project}/probe.py`, PROBE);
  const model = { model: "local/hostile" };
  const fetching = await stage.session(stage.workdir(`fetching-${sites.prize}`), model);
  const turn = stage.calls(fetching, [{ name: "fetch_url", args: { url: sites.slow } }]);
  await Promise.race([sites.asked, turn]);
  const loot = lootOf(await run(project, sites.prize), PRIZE);
  sites.answer();
  const { tools: [{ ok, output }] } = await turn;
  if (!ok || !output.includes("at last")) throw new Error(`the session fetched nothing: ${output}`);
  return loot;
}

async function inSandbox(project: string, text: string): Promise<string> {
  return await it.stage.run(await it.stage.session(project), text);
}

/** What the probe brings in the sandbox beside a proxy that is open to everyone. */
async function besideOpenProxy(run: (project: string, port: number) => Promise<string>) {
  const proxy = it.stage.victim.command("python3", ["-c", OPEN_PROXY], { stderr: "null" }).spawn();
  const reader = proxy.stdout.getReader();
  await reader.read();
  const loot = await beside(run);
  reader.releaseLock();
  await endProcess(proxy, "SIGKILL");
  await proxy.stdout.cancel();
  return loot;
}

const WAYS: Record<string, (project: string, port: number) => Promise<string>> = {
  "a command in the sandbox": (project, port) => inSandbox(project, `run ${line(port)}`),
  "a command in the sandbox with processes of its own below it": (project, port) =>
    inSandbox(project, `run sh -c 'setsid ${line(port)} & wait'`),
  "a program of the same user": (project, port) => it.stage.victim.sh(line(port), { cwd: project }),
};
for (const [who, run] of Object.entries(WAYS)) {
  attack(`${who} connects through the proxy of a fetch`, {
    ...NEEDS,
    control: () => besideOpenProxy(run),
    attempt: () => beside(run),
  });
}
