/**
 * Someone who hires the agent over HTTP, with or without a token: to reach the network behind this
 * machine, to slip a second request past a proxy, or to use what was not offered. The weaker twin of
 * the victim's daemon, for controls, runs with `--allow-private`.
 */
import { join } from "@std/path";
import { freePort } from "../support/free_port.ts";
import { endProcess } from "../support/processes.ts";
import { type RawHeaders, rawHttp } from "../support/raw.ts";
import { attacksBy, type Json, type Loot, lootOf, once, sharedStage } from "./kit.ts";

const attack = attacksBy("hirer");
const QUERY = "Where does the heron stand?";
const TOKEN = "token-of-the-hirer";
const NEEDS = { needs: ["python"] } as const;
/** What the inside answers, which nobody outside should read. */
const INSIDE = "the-secret-of-the-inside";

/** A service on every address of this machine; it answers everyone. */
const SERVICE = `
import http.server, socket
class Server(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<title>inside</title><p>The heron, ${INSIDE}, stands still.</p>"
        self.send_response(200); self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *_): pass
server = Server(("::", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

/** Ports of the daemon and of its weaker twin. */
const [port, weak_port] = [freePort(), freePort()];
let service: Deno.ChildProcess | undefined;
let inside = 0;

const ENV = { SVC_SERVE_TOKENS: TOKEN, SVC_CHROMIUM: "/nonexistent" };
const it = sharedStage({
  env: ENV,
  args: ["--enable-agent-routes", "--addr", `127.0.0.1:${port}`],
  prepare(stage) {
    stage.configure(
      `[cortex]\ncurator = false\n[tasks]\nworkers = 1\nworkdirs = ["${stage.workdir("offer")}"]\n`,
    );
    stage.workdir("private");
  },
  async begin(stage) {
    service = stage.victim.command("python3", ["-c", SERVICE], { stderr: "null" }).spawn();
    const reader = service.stdout.getReader();
    inside = Number(new TextDecoder().decode((await reader.read()).value));
    reader.releaseLock();
    stage.victim.write(
      join(stage.victim.home, "private/notes.txt"),
      `A heron said ${stage.secret}`,
    );
    stage.victim.mkdir(join(stage.dir, "twin"), 0o700);
    await stage.serveIn(
      { SVC_HOME: join(stage.dir, "twin/home") },
      ...["--enable-agent-routes", "--allow-private", "--addr", `127.0.0.1:${weak_port}`],
    );
  },
});
Deno.test.afterAll(async () => {
  if (service === undefined) return;
  await endProcess(service, "SIGKILL");
  await service.stdout.cancel();
});

/** Has a task done by the daemon at a port. */
async function hire(at: number, body: Json, headers: RawHeaders = {}) {
  const as_json = { "content-type": "application/json", "x-svc-bearer": TOKEN, ...headers };
  const answer = await rawHttp(at, "POST", "/api/task", as_json, JSON.stringify(body));
  return { status: answer.status, text: answer.body };
}

// The network behind this machine.

const REFUSED =
  /not a public address|address of this program|could not be resolved|no address|only http|invalid/i;

/** PORT is the inside's; addresses that nobody answers at are refused all the same. */
const ADDRESSES = [
  "127.0.0.1",
  "127.1",
  "127.0.0.2",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "017700000001",
  "0",
  "0.0.0.0",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "inside.localhost",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[fe80::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[ff02::1]",
  "[100::1]",
  "[2001:db8::1]",
  "10.0.0.1",
  "10.255.255.255",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.0.1",
  "169.254.169.254",
  "169.254.170.2",
  "100.64.0.1",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
  "127\u30020\u30020\u30021",
  "%31%32%37.0.0.1",
  "evil.example@127.0.0.1",
  "metadata.google.internal",
];
const looksInside = once(() => looked(weak_port, `http://127.0.0.1:${inside}/`));
for (const address of ADDRESSES) {
  attack(`has a page looked at on ${address}`, {
    ...NEEDS,
    control: looksInside,
    attempt: () => looked(port, `http://${address}:${inside}/`),
  });
}
const researchesInside = once(() => researched(weak_port, `http://127.0.0.1:${inside}/`));
for (const address of ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"]) {
  attack(`has ${address} read as a source of research`, {
    ...NEEDS,
    control: researchesInside,
    attempt: () => researched(port, `http://${address}:${inside}/`),
  });
}
for (
  const url of [
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "view-source:http://127.0.0.1:PORT/",
    "data:text/html,the-secret-of-the-inside",
    "javascript:1",
    "ftp://127.0.0.1:PORT/",
    "chrome://version",
    "about:blank",
    "http:127.0.0.1:PORT/",
    "//127.0.0.1:PORT/",
    " http://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@example.com/",
    "http://example.com\\@127.0.0.1:PORT/",
  ]
) {
  attack(`has a page looked at by ${url}`, {
    ...NEEDS,
    control: looksInside,
    attempt: () => looked(port, url.replace("PORT", String(inside))),
  });
}

/** What of a page comes back, or that it was not refused. */
async function looked(at: number, url: string): Promise<Loot> {
  const body = { task_type: "browser", query: "look", effort: "minimal", extra: { url } };
  const { status, text } = await hire(at, body);
  const record = JSON.parse(text);
  if (status >= 400) return undefined;
  // The title of the page tells its text from its own address.
  const summary = String(record.summary ?? "");
  if (at === weak_port) return lootOf(summary, INSIDE);
  return record.status === "failed" && REFUSED.test(String(record.error)) ? undefined : text;
}

async function researched(at: number, url: string): Promise<Loot> {
  const body = {
    task_type: "research",
    query: QUERY,
    effort: "minimal",
    extra: { urls: [url] },
  };
  const { status, text } = await hire(at, body);
  if (status >= 400) return undefined;
  if (at === weak_port) return lootOf(text, INSIDE);
  return lootOf(text, INSIDE) ?? (/not a public address|own address/.test(text) ? undefined : text);
}

// Requests that read in two ways.

const REST = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const AMBIGUOUS: Record<string, string> = {
  "two lengths": `Content-Length: 0\r\nContent-Length: ${REST.length}\r\n\r\n`,
  "two lengths the other way round": `Content-Length: ${REST.length}\r\nContent-Length: 0\r\n\r\n`,
  "a list of lengths": `Content-Length: 0, ${REST.length}\r\n\r\n`,
  "a length with a sign": `Content-Length: +0\r\n\r\n`,
  "a negative length": `Content-Length: -1\r\n\r\n`,
  "a length in hexadecimal": `Content-Length: 0x0\r\n\r\n`,
  "a length that overflows": `Content-Length: 18446744073709551616\r\n\r\n`,
  "chunks and a length": `Content-Length: ${
    REST.length + 5
  }\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "an unknown encoding": `Transfer-Encoding: xchunked\r\n\r\n`,
  "an encoding after chunks": `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  "chunks twice": `Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  "a space before the colon": `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  "a folded header":
    `X: y\r\n Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`,
  "a tab in the encoding": `Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
  "a chunk's size in 0x": `Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n`,
  "a chunk's size that overflows": `Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n`,
  "a negative chunk": `Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n`,
  "a NUL in a header": `X: a\x00b\r\n\r\n`,
  "a carriage return alone in a header": `X: a\rY: b\r\n\r\n`,
};
for (const [what, head] of Object.entries(AMBIGUOUS)) {
  attack(`slips a second request past a proxy by ${what}`, {
    ...NEEDS,
    control: once(() => second(`Content-Length: 0\r\n\r\n`)),
    attempt: () => second(head),
  });
}

/** Whether the rest of a request was taken for a request of its own. */
async function second(head: string): Promise<Loot> {
  const start = `POST /api/task HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Svc-Bearer: ${TOKEN}\r\n` +
    "Content-Type: application/json\r\n";
  const end = "GET /end HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
  const said = await it.stage.victim.exchange(port, start + head + REST + end);
  return lootOf(said, "path not found: /smuggled");
}

// Without a token, or with one for something else.

const ENDPOINTS: [string, string, string][] = [
  ["POST", "/api/task", '{"task_type":"browser","query":"x","extra":{"url":"http://x.invalid"}}'],
  ["GET", "/api/task/t-01ARZ3NDEKTSV4RRFFQ69G5FAV", ""],
  ["POST", "/api/task/t-01ARZ3NDEKTSV4RRFFQ69G5FAV/cancel", "{}"],
  ["GET", "/api/task/t-01ARZ3NDEKTSV4RRFFQ69G5FAV/events", ""],
  ["GET", "/api/task/t-01ARZ3NDEKTSV4RRFFQ69G5FAV/artifacts/a.txt", ""],
  ["POST", "/a2a", '{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{}}'],
];
const CREDENTIALS: Record<string, RawHeaders> = {
  "no token": {},
  "an empty token": { "x-svc-bearer": "" },
  "a part of the token": { "x-svc-bearer": TOKEN.slice(0, -1) },
  "the token and more": { "x-svc-bearer": `${TOKEN}x` },
  "the token in another case": { "x-svc-bearer": TOKEN.toUpperCase() },
  "a list of tokens": { "x-svc-bearer": `x,${TOKEN}` },
  "the token in a cookie": { cookie: `x-svc-bearer=${TOKEN}` },
  "a comma": { "x-svc-bearer": "," },
};
for (const [what, headers] of Object.entries(CREDENTIALS)) {
  attack(`is served with ${what}`, {
    control: once(() => served({ "x-svc-bearer": TOKEN })),
    attempt: () => served(headers),
  });
}

/** The first endpoint that takes these for credentials. */
async function served(headers: RawHeaders): Promise<Loot> {
  for (const [method, path, body] of ENDPOINTS) {
    const sent = { "content-type": "application/json", ...headers };
    const { status } = await rawHttp(port, method, path, sent, body);
    if (status !== 401) return `${method} ${path}: ${status}`;
  }
  return undefined;
}

attack("is served with the token in the address", {
  control: once(() => served({ "x-svc-bearer": TOKEN })),
  async attempt() {
    const query = `?x-svc-bearer=${TOKEN}&token=${TOKEN}&access_token=${TOKEN}`;
    const { status } = await rawHttp(port, "GET", `${ENDPOINTS[1][1]}${query}`);
    return status === 401 ? undefined : String(status);
  },
});

const OF_THE_PERSON: [string, string][] = [
  ["GET", "/v1/discover"],
  ["GET", "/v1/sessions"],
  ["POST", "/v1/rpc"],
  ["POST", "/mcp"],
  ["GET", "/v1/tasks/x/artifacts/y"],
  ["GET", "/"],
  ["GET", "/v1/openapi.json"],
  ["GET", "/v1/health"],
];
for (const [method, path] of OF_THE_PERSON) {
  attack(`reaches ${method} ${path} of the person's daemon at the door for hirers`, {
    control: once(() => answered("GET", "/api/capabilities")),
    attempt: () => answered(method, path),
  });
}

async function answered(method: string, path: string): Promise<Loot> {
  const headers = {
    "x-svc-bearer": TOKEN,
    authorization: `Bearer ${it.stage.daemon.token}`,
    "content-type": "application/json",
  };
  const body = method === "POST" ? '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}' : "";
  const { status, body: said } = await rawHttp(port, method, path, headers, body);
  return status === 404 ? undefined : said;
}

attack("uses its token at the person's daemon", {
  control: () => listed(it.stage.daemon.token),
  attempt: () => listed(TOKEN),
});

async function listed(token: string): Promise<Loot> {
  const headers = { authorization: `Bearer ${token}`, "x-svc-bearer": token };
  const { body } = await rawHttp(it.stage.daemon.port, "GET", "/v1/sessions", headers);
  return lootOf(body, '"sessions"');
}

// What was not offered.

const UNOFFERED: Record<string, (home: string, svc_home: string) => Json> = {
  "a directory beside": (home) => ({ workdir: join(home, "private"), files: ["notes.txt"] }),
  "a directory above": (home) => ({ workdir: home, files: ["private/notes.txt"] }),
  "a path out of the offer": (home) => ({
    workdir: join(home, "offer"),
    files: ["../private/notes.txt"],
  }),
  "an absolute path": (home) => ({
    workdir: join(home, "offer"),
    files: [join(home, "private/notes.txt")],
  }),
  "the offer with dots behind": (home) => ({
    workdir: `${home}/offer/../private`,
    files: ["notes.txt"],
  }),
  "a name that begins like the offer": (home) => ({ workdir: `${home}/offer-2`, files: ["a"] }),
  "the home of svc": (_, svc_home) => ({ workdir: svc_home, files: ["daemon.json"] }),
  "the root": (home) => ({ workdir: "/", files: [`${home}/private/notes.txt`.slice(1)] }),
  "a file of the system": () => ({ workdir: "/etc", files: ["passwd"] }),
};
for (const [what, extra] of Object.entries(UNOFFERED)) {
  attack(`has ${what} read for research`, {
    ...NEEDS,
    control: once(() => read(offered())),
    attempt: () => read(extra(it.stage.victim.home, it.stage.svc_home)),
  });
}

/** What was offered, and is read. */
function offered(): Json {
  const { victim, secret } = it.stage;
  const workdir = join(victim.home, "offer");
  victim.write(join(workdir, "notes.txt"), `The heron stands still, ${secret}.\n`);
  return { workdir, files: ["notes.txt"] };
}

async function read(extra: Json): Promise<Loot> {
  const body = { task_type: "research", query: QUERY, extra };
  const { text } = await hire(port, body);
  return lootOf(text, it.stage.secret, it.stage.daemon.token, "root:x:0:0");
}

for (
  const [what, body] of Object.entries<Json>({
    "a target to deploy to": { task_type: "deploy", description: "x", extra: { target: "prod" } },
    "a type of the prototype": { task_type: "__proto__", description: "x" },
    "a constructor": { task_type: "constructor", description: "x" },
    "a type that is a list": { task_type: ["browser"], description: "x" },
    "code outside of the offer": {
      task_type: "code",
      description: "ls",
      extra: { workdir: "/", model: "builtin/toolbelt" },
    },
    "a repository outside of the offer": {
      task_type: "code",
      description: "ls",
      extra: { repo: "/root/repo", model: "builtin/toolbelt" },
    },
    "a repository by another way": {
      task_type: "code",
      description: "ls",
      extra: { repo: "ext::sh -c touch% /tmp/x", model: "builtin/toolbelt" },
    },
    "a budget below nothing": {
      task_type: "code",
      description: "ls",
      extra: { budget_usd: -1, model: "builtin/toolbelt" },
    },
  })
) {
  attack(`is given ${what}`, {
    ...NEEDS,
    control: once(() => completed({ task_type: "research", query: QUERY, extra: offered() })),
    attempt: () => completed(body),
  });
}

async function completed(body: Json): Promise<Loot> {
  const { status, text } = await hire(port, body);
  if (status >= 400) return undefined;
  return JSON.parse(text).status === "completed" ? text : undefined;
}

for (
  const name of [
    "../../daemon.json",
    "..%2f..%2fdaemon.json",
    "%2e%2e%2f%2e%2e%2fdaemon.json",
    "..%5c..%5cdaemon.json",
    "%00",
    "a%00/../../daemon.json",
    "/etc/passwd",
    "//etc/passwd",
  ]
) {
  attack(`downloads ${name} as what a task made`, {
    control: () => Promise.resolve(lootOf(Deno.readTextFileSync(record()), it.stage.daemon.token)),
    async attempt() {
      const { text } = await hire(port, { task_type: "research", query: "nothing" });
      const path = `/api/task/${JSON.parse(text).id}/artifacts/${name}`;
      const { body } = await rawHttp(port, "GET", path, { "x-svc-bearer": TOKEN });
      return lootOf(body, it.stage.daemon.token, "root:x:0:0");
    },
  });
}

function record(): string {
  return join(it.stage.svc_home, "daemon.json");
}

attack("makes the daemon work on more than a request may hold", {
  control: () => sized(1_000),
  attempt: () => sized(2_000_000),
});
attack("makes the daemon read what is nested without end", {
  control: () => nested(10),
  attempt: () => nested(100_000),
});

async function sized(length: number): Promise<Loot> {
  const body = { task_type: "research", query: QUERY, extra: offered(), x: "x".repeat(length) };
  const { status, text } = await hire(port, body);
  return status === 200 ? text.slice(0, 100) : undefined;
}

/** Unknown members are left out; those that are nested too deeply must not end the daemon. */
async function nested(depth: number): Promise<Loot> {
  const body = `{"task_type":"research","query":"x","extra":{"urls":["x:"]},"x":${
    "[".repeat(depth)
  }${"]".repeat(depth)}}`;
  const headers = { "content-type": "application/json", "x-svc-bearer": TOKEN };
  const { status } = await rawHttp(port, "POST", "/api/task", headers, body);
  const { status: health } = await rawHttp(port, "GET", "/api/capabilities");
  return depth > 10 ? (health === 200 ? undefined : `${status} ${health}`) : String(status);
}
