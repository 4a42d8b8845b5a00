/**
 * A web page that the victim has open: requests as a browser sends them for it. What a real browser
 * makes of such a page is in tests/web/hostile_page_test.ts; here every origin, name and way to
 * send is tried on its own, also those that browsers of today do not send.
 */
import { rawExchange, type RawHeaders, rawHttp, RawWebSocket } from "../support/raw.ts";
import { attacksBy, type Json, type Loot, lootOf, once, sharedStage } from "./kit.ts";

const attack = attacksBy("page");
let session_id: string;
const it = sharedStage({
  async begin(stage) {
    session_id = await stage.session(stage.workdir("project"), { approval: "ask" });
  },
});

/** Text with PORT, NEXT and TOKEN filled in. */
function filled(text: string): string {
  const { port, token } = it.stage.daemon;
  return text.replaceAll("PORT", String(port)).replaceAll("NEXT", String(port ^ 1))
    .replaceAll("TOKEN", token);
}

// Origins. The page is even given the token: its origin alone must keep it out.

const ORIGINS = [
  "http://evil.example",
  "https://evil.example",
  "http://127.0.0.1",
  "http://localhost",
  "http://127.0.0.1:NEXT",
  "http://localhost:NEXT",
  "https://127.0.0.1:PORT",
  "https://localhost:PORT",
  "ws://127.0.0.1:PORT",
  "http://127.0.0.1:PORT.evil.example",
  "http://127.0.0.1.evil.example:PORT",
  "http://localhost.evil.example:PORT",
  "http://evil.example:PORT",
  "http://localhost:PORT@evil.example",
  "http://evil.example#http://localhost:PORT",
  "http://evil.example/http://localhost:PORT",
  "http://127.0.0.1:PORT/",
  "http://127.0.0.1:PORT/evil",
  "http://127.0.0.1:0PORT",
  "http://127.0.0.2:PORT",
  "http://127.1:PORT",
  "http://0.0.0.0:PORT",
  "http://2130706433:PORT",
  "http://localhost.:PORT",
  "http://evil.localhost:PORT",
  "http://[::ffff:127.0.0.1]:PORT",
  "http://loca\u006Chost\u200B:PORT",
  "//127.0.0.1:PORT",
  "127.0.0.1:PORT",
  "file://",
  "data:",
  "about:blank",
  "blob:http://127.0.0.1:PORT",
  "chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "moz-extension://00000000-0000-0000-0000-000000000000",
  "vscode-webview://webview",
  "capacitor://localhost",
  "app://localhost",
  "http://tauri.localhost",
  "https://tauri.localhost",
  "tauri://localhost.evil.example",
  "tauri://evil",
  "tauri://localhost:PORT",
  "tauri://localhost/",
  "undefined",
  "*",
  "http://localhost:PORT, http://evil.example",
  "http://evil.example, http://localhost:PORT",
  "null, http://evil.example",
  "null.evil.example",
];
const ownOrigin = once(() => withOrigin("http://127.0.0.1:PORT"));
for (const origin of ORIGINS) {
  attack(`has the origin ${origin}`, {
    control: ownOrigin,
    attempt: () => withOrigin(origin),
  });
}

/** What a page of an origin is answered, on each way in, when it knows the token. */
async function withOrigin(text: string): Promise<Loot> {
  const { port, token } = it.stage.daemon;
  const origin = filled(text);
  const headers = { origin, authorization: `Bearer ${token}` };
  const body = '{"jsonrpc":"2.0","id":1,"method":"session.list"}';
  const as_json = { ...headers, "content-type": "application/json" };
  const answers: [string, RawHeaders, string, string][] = [
    ["GET", { origin }, "/v1/discover", ""],
    ["GET", { origin }, "/", ""],
    ["GET", headers, "/v1/sessions", ""],
    ["POST", as_json, "/v1/rpc", body],
    ["OPTIONS", { origin, "access-control-request-method": "POST" }, "/v1/rpc", ""],
  ];
  for (const [method, sent, path, text] of answers) {
    const { status, headers: got } = await rawHttp(port, method, path, sent, text);
    const readable = got.get("access-control-allow-origin");
    if (status < 400 || readable !== null) return `${method} ${path}: ${status} ${readable}`;
  }
  const protocols = `svc.bearer, ${token}, svc.proto.v1`;
  const { status, socket } = await RawWebSocket.open(port, { protocols, headers: { origin } });
  socket?.[Symbol.dispose]();
  return status === 101 ? "a WebSocket" : undefined;
}

for (const origin of ["null", "http://127.0.0.1:PORT"]) {
  attack(`of the origin ${origin} is let read answers by cross-origin headers`, {
    control: once(() => readableBy("tauri://localhost")),
    attempt: () => readableBy(filled(origin)),
  });
}

async function readableBy(origin: string): Promise<Loot> {
  const paths = ["/v1/health", "/v1/discover", "/v1/openapi.json", "/", "/v1/sessions"];
  for (const path of paths) {
    const { headers } = await rawHttp(it.stage.daemon.port, "GET", path, { origin });
    const allowed = headers.get("access-control-allow-origin");
    if (allowed !== null) return `${path} for ${allowed}`;
  }
  return undefined;
}

// Names that lead here: DNS rebinding.

const HOSTS = [
  "Host: evil.example",
  "Host: evil.example:PORT",
  "Host: 127.0.0.1",
  "Host: localhost",
  "Host: 127.0.0.1:80",
  "Host: 127.0.0.1:NEXT",
  "Host: localhost:NEXT",
  "Host: 127.0.0.1:PORT.evil.example",
  "Host: 127.0.0.1.evil.example:PORT",
  "Host: localhost.evil.example:PORT",
  "Host: localhost:PORT@evil.example",
  "Host: evil@localhost:PORT",
  "Host: localhost:0PORT",
  "Host: localhost.:PORT",
  "Host: evil.localhost:PORT",
  "Host: 127.0.0.2:PORT",
  "Host: 127.1:PORT",
  "Host: 2130706433:PORT",
  "Host: 0x7f000001:PORT",
  "Host: 017700000001:PORT",
  "Host: 0.0.0.0:PORT",
  "Host: [::]:PORT",
  "Host: [::ffff:127.0.0.1]:PORT",
  "Host: localhost:PORT, evil.example",
  "Host: localhost:PORT evil.example",
  "Host: localhost:PORT/evil.example",
  "Host: http://localhost:PORT",
  "Host: ",
  "X-Nothing: no host at all",
  "Host: evil.example\r\nHost: 127.0.0.1:PORT",
  "Host: 127.0.0.1:PORT\r\nHost: evil.example",
  "Host: evil.example\r\nX-Forwarded-Host: 127.0.0.1:PORT",
  "Host: evil.example\r\nForwarded: host=127.0.0.1:PORT",
  "Host: evil.example\r\nX-Host: 127.0.0.1:PORT\r\nX-Original-Host: 127.0.0.1:PORT",
];
const ownName = once(() => namedBy("Host: 127.0.0.1:PORT"));
for (const host of HOSTS) {
  const name = host.replaceAll("\r\n", " and ");
  attack(`reaches the daemon under another name, with ${name}`, {
    control: ownName,
    attempt: () => namedBy(host),
  });
}

/** What the daemon gives to someone who knows the token and uses a name. */
async function namedBy(host: string): Promise<Loot> {
  for (const path of ["/v1/health", "/v1/sessions", "/"]) {
    const head = `GET ${path} HTTP/1.1\r\n${host}\r\nAuthorization: Bearer TOKEN\r\n` +
      "Accept: text/html\r\nConnection: close\r\n\r\n";
    const said = await rawExchange(it.stage.daemon.port, filled(head));
    if (/^HTTP\/1.1 [123]/.test(said)) return said.slice(0, 200);
  }
  return undefined;
}

// A proxy that is led to pass a request on may rewrite the header, or leave it: the daemon sees both.
for (const host of ["evil.example", "127.0.0.1:PORT"]) {
  for (
    const [what, target] of [
      ["an absolute target of another authority", "http://evil.example/v1/health"],
      ["an absolute target without a path", "http://evil.example?/v1/health"],
      ["an absolute target on another port", "http://127.0.0.1:NEXT/v1/health"],
      ["an absolute target of another scheme", "https://127.0.0.1:PORT/v1/health"],
      ["a target with a user", "http://evil@127.0.0.1:PORT/v1/health"],
      ["a target with this listener as its user", "http://127.0.0.1:PORT@evil.example/v1/health"],
    ]
  ) {
    attack(`asks for ${what}, with Host: ${host}`, {
      control: once(() => targeted("http://127.0.0.1:PORT/v1/health", "127.0.0.1:PORT")),
      attempt: () => targeted(target, host),
    });
  }
}

async function targeted(target: string, host: string): Promise<Loot> {
  const head = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const said = await rawExchange(it.stage.daemon.port, filled(head));
  return /^HTTP\/1.1 [123]/.test(said) ? said.slice(0, 200) : undefined;
}

// Requests that need no leave of the server's: what counts is what they do.

const START = () => ({ workdir: `${it.stage.victim.home}/project` });
const rpc = (method: string, params: Json) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const SENT: [string, string, string, () => string][] = [
  ["a new session", "POST", "/v1/sessions", () => JSON.stringify(START())],
  ["a call", "POST", "/v1/rpc", () => rpc("session.start", START())],
  ["a message", "POST", "/v1/sessions/ID/messages", () => '{"text":"run touch owned"}'],
  ["a pause", "POST", "/v1/sessions/ID/pause", () => ""],
  ["an end", "DELETE", "/v1/sessions/ID", () => ""],
  [
    "a tool call",
    "POST",
    "/mcp",
    () => rpc("tools/call", { name: "svc.session.start", arguments: START() }),
  ],
  [
    "a new configuration",
    "POST",
    "/v1/rpc",
    () => rpc("daemon.set_config", { path: ["agent", "approval"], value: "auto" }),
  ],
  ["a shutdown", "POST", "/v1/rpc", () => rpc("daemon.shutdown", { grace_s: 0 })],
];
/** How pages send without being asked, and what they put where a token belongs. */
const WAYS: Record<string, { headers: RawHeaders; query?: string }> = {
  "a form of text": { headers: { "content-type": "text/plain", origin: "null" } },
  "a form": { headers: { "content-type": "application/x-www-form-urlencoded" } },
  "an upload": { headers: { "content-type": "multipart/form-data; boundary=x" } },
  "a beacon without a type": { headers: { "content-type": "" } },
  "JSON without a token": { headers: { "content-type": "application/json" } },
  "the token in the address": {
    headers: { "content-type": "application/json" },
    query: "?token=TOKEN&access_token=TOKEN&bearer=TOKEN&authorization=Bearer%20TOKEN",
  },
  "the token in a cookie": {
    headers: { "content-type": "application/json", cookie: "token=TOKEN; svc.bearer=TOKEN" },
  },
  "the token as a password": {
    headers: { "content-type": "application/json", authorization: "BASIC" },
  },
  "the token of the other surface's header": {
    headers: { "content-type": "application/json", "x-svc-bearer": "TOKEN" },
  },
  "another method in a header": {
    headers: { "content-type": "text/plain", "x-http-method-override": "DELETE" },
  },
};
/** With the token all of it works. */
const byToken = once(async () => {
  const as = { "content-type": "application/json", authorization: "Bearer TOKEN" };
  const done = await doneBy("POST", "/v1/sessions", as, JSON.stringify(START()));
  const [id] = (await it.stage.call("session.list")).sessions
    .map(({ id }: Json) => id).filter((id: string) => id !== session_id);
  await it.stage.call("session.kill", { session_id: id });
  return done;
});
for (const [way, { headers, query = "" }] of Object.entries(WAYS)) {
  for (const [what, method, path, body] of SENT.slice(0, 4)) {
    attack(`sends ${what} by ${way}`, {
      control: byToken,
      attempt: () => doneBy(method, `${path}${query}`, headers, body()),
    });
  }
}
for (const [what, method, path, body] of SENT.slice(4)) {
  attack(`sends ${what} without a token`, {
    control: once(() => doneBy("GET", "/v1/sessions", { authorization: "Bearer TOKEN" }, "")),
    attempt: () => doneBy(method, path, { "content-type": "application/json" }, body()),
  });
}

/** What a request did, by its answer and by what the daemon has afterwards. */
async function doneBy(
  method: string,
  path: string,
  headers: RawHeaders,
  body: string,
): Promise<Loot> {
  const { daemon } = it.stage;
  const state = async () => {
    const { sessions } = await it.stage.call("session.list", { include_ended: true });
    return JSON.stringify(sessions.map(({ id, state, last_seq }: Json) => [id, state, last_seq]));
  };
  const before = await state();
  const sent = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value === "BASIC" ? `Basic ${btoa(`svc:${daemon.token}`)}` : filled(value!),
    ]),
  );
  const target = filled(path).replace("ID", session_id);
  const { status } = await rawHttp(daemon.port, method, target, sent, body);
  const after = await state();
  return status < 400 || before !== after ? `${status}: ${before} to ${after}` : undefined;
}

// What a page may embed, frame or keep.

const PAGES = ["/", "/index.html", "/sessions", "/settings", "/nothing"];
for (const path of PAGES) {
  attack(`puts ${path} into a frame`, {
    control: once(() => framed("text/html", new Headers({ "content-type": "text/html" }))),
    async attempt() {
      const { headers } = await rawHttp(it.stage.daemon.port, "GET", path, { accept: "text/html" });
      return framed(path, headers);
    },
  });
}

/** Whether a browser would show an answer with these headers in a page of another origin. */
function framed(what: string, headers: Headers): Promise<Loot> {
  const policy = headers.get("content-security-policy") ?? "";
  const html = headers.get("content-type")?.startsWith("text/html") ?? false;
  const shown = html && !/frame-ancestors 'none'/.test(policy) &&
    headers.get("x-frame-options")?.toUpperCase() !== "DENY";
  return Promise.resolve(shown ? `${what} may be framed` : undefined);
}

for (const path of ["/v1/discover", "/v1/health", "/v1/sessions", "/v1/openapi.json", "/nothing"]) {
  attack(`runs the answer of ${path} as a script or a style`, {
    control: once(() => Promise.resolve(runnable(new Headers({ "content-type": "text/plain" })))),
    async attempt() {
      return runnable((await rawHttp(it.stage.daemon.port, "GET", path)).headers);
    },
  });
}

/** A browser runs whatever may be guessed to be a script. */
function runnable(headers: Headers): Loot {
  const type = headers.get("content-type") ?? "";
  const safe = headers.get("x-content-type-options") === "nosniff" &&
    !/javascript|ecmascript|css/.test(type);
  return safe ? undefined : `${type} is guessed at`;
}

for (
  const [what, header] of [
    ["finds the token in a cache", "cache-control: no-store"],
    ["embeds the discovery record", "cross-origin-resource-policy: same-origin"],
  ]
) {
  const probe = async (path: string): Promise<Loot> => {
    const { port } = it.stage.daemon;
    const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
    // The browser is the victim's own.
    const said = await it.stage.victim.exchange(port, head);
    return said.startsWith("HTTP/1.1 200") && !said.includes(`${header}\r\n`) ? said : undefined;
  };
  attack(what, {
    needs: ["python"],
    control: () => probe("/v1/health"),
    attempt: () => probe("/v1/discover"),
  });
}

attack("keeps a hand on a window of the app that it opened", {
  control: once(() => Promise.resolve(opened(new Headers()))),
  async attempt() {
    const { headers } = await rawHttp(it.stage.daemon.port, "GET", "/", { accept: "text/html" });
    return opened(headers);
  },
});

function opened(headers: Headers): Loot {
  return headers.get("cross-origin-opener-policy") === "same-origin" ? undefined : "it does";
}

attack("is told of the app's address by a Referer", {
  control: once(() => Promise.resolve(referred(new Headers()))),
  async attempt() {
    const { headers } = await rawHttp(it.stage.daemon.port, "GET", "/", { accept: "text/html" });
    return referred(headers);
  },
});

function referred(headers: Headers): Loot {
  return headers.get("referrer-policy") === "no-referrer" ? undefined : "it is";
}

for (const path of ["/sw.js", "/service-worker.js", "/v1/sw.js", "/assets/../evil.js"]) {
  attack(`registers ${path} as a service worker`, {
    control: once(async () => {
      const { body } = await rawHttp(it.stage.daemon.port, "GET", "/", { accept: "text/html" });
      return await worker(body.match(/src="([^"]+\.js)"/)![1]);
    }),
    attempt: () => worker(path),
  });
}

/** Whether a browser would take what is at a path as a worker's script. */
async function worker(path: string): Promise<Loot> {
  const headers = { "service-worker": "script", accept: "*/*" };
  const { status, headers: got } = await rawHttp(it.stage.daemon.port, "GET", path, headers);
  const type = got.get("content-type") ?? "";
  return status === 200 && type.includes("javascript") ? `${path} is ${type}` : undefined;
}

attack("has a script of its own in the app by its address", {
  control: once(() => Promise.resolve(lootOf("<b>marker-4711</b>", "marker-4711"))),
  async attempt() {
    const paths = ["/marker-4711", "/?q=marker-4711", "/sessions/marker-4711", "/v1/marker-4711"];
    for (const path of paths) {
      const { headers, body } = await rawHttp(it.stage.daemon.port, "GET", path, {
        accept: "text/html",
      });
      if (headers.get("content-type")?.includes("html")) {
        const loot = lootOf(body, "marker-4711");
        if (loot !== undefined) return loot;
      }
    }
    return undefined;
  },
});

const POLICY: Record<string, RegExp> = {
  "a script from elsewhere": /script-src 'self'(;|$)/,
  "a script in the page": /script-src (?!.*'unsafe-inline')[^;]*(;|$)/,
  "a frame from elsewhere": /default-src 'self'/,
  "a connection to elsewhere": /connect-src 'self' ws:\/\/127\.0\.0\.1:\* http:\/\/127\.0\.0\.1:\*/,
};
for (const [what, wanted] of Object.entries(POLICY)) {
  attack(`that got text into the app loads ${what}`, {
    control: once(() => Promise.resolve(wanted.test("default-src *") ? undefined : "loads it")),
    async attempt() {
      const { headers } = await rawHttp(it.stage.daemon.port, "GET", "/", { accept: "text/html" });
      const policy = headers.get("content-security-policy") ?? "";
      return wanted.test(policy) ? undefined : policy || "no policy";
    },
  });
}
