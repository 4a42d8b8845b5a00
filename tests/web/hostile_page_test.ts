/**
 * What a page that means harm gets from the daemon, in a real browser: nothing to read, nothing
 * done. The same page against a server without guards shows that its tricks work.
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { join, toFileUrl } from "@std/path";
import type { Frame, Page } from "playwright-core";
import { Browser, chromiumPath } from "../support/browser.ts";
import { rawHttp } from "../support/raw.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc || chromiumPath() === undefined;
/** A name that the other side lets point at this machine: DNS rebinding. */
const NAME = "evil.test";
const SWITCHES = [
  `--host-resolver-rules=MAP ${NAME} 127.0.0.1`,
  // The browser's own guard of local networks is not what is tested.
  "--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
];
const READ = ["/v1/health", "/v1/discover", "/v1/openapi.json", "/v1/sessions", "/"];

/** What a page is told before it begins. */
interface Aim {
  /** `127.0.0.1:<port>` or a name that leads there. */
  host: string;
  read: string[];
  session_id: string;
  workdir: string;
  /** How long what gives no sign is waited for. */
  patience_ms: number;
}

interface Loot {
  /** What could be read, by how and where. */
  read: Record<string, string>;
  /** How each WebSocket ended: `open` or `closed`. */
  sockets: Record<string, string>;
  /** What loaded as something that runs or shows. */
  loaded: string[];
  framed: string[];
}

/** Runs in the page: tries everything it can think of. Only what is in here is there. */
async function attack({ host, read, session_id, workdir, patience_ms }: Aim): Promise<Loot> {
  // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
  const { document, navigator, location } = globalThis as any;
  const base = `http://${host}`;
  const loot: Loot = { read: {}, sockets: {}, loaded: [], framed: [] };
  const tries: Promise<unknown>[] = [];
  const attempt = (work: () => unknown) => {
    tries.push((async () => await work())().catch(() => {}));
  };
  const limited = <T>(promise: Promise<T>): Promise<T | undefined> =>
    Promise.race([promise, new Promise<undefined>((resolve) => setTimeout(resolve, patience_ms))]);

  for (const path of read) {
    const url = `${base}${path}`;
    for (
      const [how, init] of Object.entries<RequestInit>({
        plain: {},
        credentials: { credentials: "include" },
        authorized: { headers: { authorization: `Bearer ${"0".repeat(64)}` } },
        opaque: { mode: "no-cors" },
        cached: { mode: "no-cors", cache: "force-cache" },
      })
    ) {
      attempt(async () => {
        const text = await (await fetch(url, init)).text();
        if (text !== "") loot.read[`${how} ${path}`] = text;
      });
    }
    // deno-lint-ignore no-explicit-any -- not among Deno's types
    const Xhr = (globalThis as any).XMLHttpRequest;
    attempt(() =>
      limited(
        new Promise<void>((resolve) => {
          const xhr = new Xhr();
          xhr.onload = () => {
            loot.read[`xhr ${path}`] = xhr.responseText;
            resolve();
          };
          xhr.onerror = () => resolve();
          xhr.open("GET", url);
          xhr.send();
        }),
      )
    );
    for (
      const [tag, property] of [["script", "src"], ["img", "src"], ["link", "href"], [
        "audio",
        "src",
      ]]
    ) {
      attempt(() =>
        limited(
          new Promise<void>((resolve) => {
            const element = document.createElement(tag);
            if (tag === "link") element.rel = "stylesheet";
            element.onload = element.onloadedmetadata = () => {
              loot.loaded.push(`${tag} ${path}`);
              resolve();
            };
            element.onerror = () => resolve();
            element[property] = url;
            document.head.append(element);
          }),
        )
      );
    }
    attempt(() =>
      limited(
        new Promise<void>((resolve) => {
          const frame = document.createElement("iframe");
          frame.onload = () => {
            try {
              const text = frame.contentDocument.documentElement.outerHTML;
              if (frame.contentWindow.location.href !== "about:blank") loot.framed.push(text);
            } catch {
              // Another origin's document: not ours to read.
            }
            resolve();
          };
          frame.src = url;
          document.body.append(frame);
        }),
      )
    );
    attempt(() =>
      limited(
        new Promise<void>((resolve) => {
          const worker = new Worker(
            URL.createObjectURL(
              new Blob([
                `try{importScripts(${
                  JSON.stringify(url)
                });postMessage("ran")}catch{postMessage("")}`,
              ]),
            ),
          );
          worker.onmessage = ({ data }) => {
            if (data) loot.loaded.push(`importScripts ${path}`);
            worker.terminate();
            resolve();
          };
          worker.onerror = () => resolve();
        }),
      )
    );
  }

  const guesses = [
    [],
    ["svc.bearer"],
    ["svc.proto.v1"],
    ["svc.bearer", "svc.proto.v1"],
    ["svc.bearer", "0".repeat(64), "svc.proto.v1"],
    ["svc.bearer", "undefined"],
    ["svc.bearer", "svc.bearer"],
  ];
  for (const path of ["/", "/v1/ws"]) {
    for (const protocols of guesses) {
      attempt(async () => {
        const ended = new Promise<string>((tell) => {
          const socket = new WebSocket(`ws://${host}${path}`, protocols);
          socket.onopen = () => {
            tell("open");
            socket.close();
          };
          socket.onclose = () => tell("closed");
        });
        loot.sockets[`${path} ${protocols}`] = await limited(ended) ?? "nothing";
      });
    }
  }

  // Requests that need no leave of the server's: what counts is what they did.
  const call = (method: string, params: unknown) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const bodies: [string, string][] = [
    ["/v1/sessions", JSON.stringify({ workdir, prompt: "run touch owned" })],
    ["/v1/rpc", call("session.start", { workdir })],
    ["/v1/rpc", call("session.kill", { session_id })],
    ["/v1/rpc", call("daemon.shutdown", { grace_s: 0 })],
    [`/v1/sessions/${session_id}/messages`, JSON.stringify({ text: "write owned" })],
    [`/v1/sessions/${session_id}/pause`, ""],
  ];
  for (const [path, body] of bodies) {
    const url = `${base}${path}`;
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
      for (const mode of ["no-cors", "cors"] as const) {
        attempt(() =>
          fetch(url, { method: "POST", mode, body, headers: { "content-type": type } })
        );
      }
      attempt(() => navigator.sendBeacon(url, new Blob([body], { type })));
    }
    attempt(() => {
      // As text/plain a form can spell JSON: the name is its start, the value its end.
      const frame = document.createElement("iframe");
      frame.name = `into-${Math.random()}`;
      const form = document.createElement("form");
      Object.assign(form, {
        method: "post",
        enctype: "text/plain",
        action: url,
        target: frame.name,
      });
      const field = document.createElement("input");
      const at = body.lastIndexOf('"');
      Object.assign(field, { name: `${body.slice(0, at)}","x":"`, value: body.slice(at) });
      form.append(field);
      document.body.append(frame, form);
      form.submit();
      return new Promise((resolve) => setTimeout(resolve, 500));
    });
  }
  for (const method of ["DELETE", "PUT", "OPTIONS"]) {
    attempt(() => fetch(`${base}/v1/sessions/${session_id}`, { method }));
  }
  attempt(() =>
    limited(
      new Promise<void>((resolve) => {
        const source = new EventSource(`${base}/v1/sessions/${session_id}/events?since_seq=0`);
        source.onmessage = source.onopen = () => {
          loot.read.events = "open";
          source.close();
          resolve();
        };
        source.onerror = () => {
          source.close();
          resolve();
        };
      }),
    )
  );
  await Promise.all(tries);
  loot.read.self = location.href;
  return loot;
}

/** A page server of the other side's; `/` is an empty page, `/frame` one that holds a sandboxed frame. */
function evilServer() {
  const html = (body: string) =>
    new Response(`<!doctype html><title>x</title><body>${body}</body>`, {
      headers: { "content-type": "text/html" },
    });
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    return new URL(request.url).pathname === "/frame"
      ? html(
        `<iframe name="boxed" sandbox="allow-scripts allow-forms" srcdoc="<head></head><body></body>"></iframe>`,
      )
      : html("");
  });
}

/** The sandboxed frame in a page: its origin is `null`. */
async function boxedFrame(page: Page): Promise<Frame> {
  const frame = await (await page.waitForSelector("iframe")).contentFrame();
  await frame!.waitForSelector("body", { state: "attached" });
  return frame!;
}

/** A server that lets everyone do everything, and says what came. */
function laxServer() {
  const came: string[] = [];
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.headers.get("upgrade") === "websocket") {
        const [protocol] = (request.headers.get("sec-websocket-protocol") ?? "").split(", ");
        return Deno.upgradeWebSocket(request, { protocol }).response;
      }
      came.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`);
      return new Response("var secret = 1;", {
        headers: { ...headers, "content-type": "text/javascript" },
      });
    },
  );
  return { server, came };
}

/**
 * Whether a request is one of the page's forms and spells a call. Not every form does: one of a body
 * that does not end in a text is no JSON.
 */
function isFormThatCalls(request: string): boolean {
  const [, body] = request.match(/^POST \/v1\/rpc (.*)/s) ?? [];
  if (!body?.includes('","x":"=')) return false;
  try {
    return JSON.parse(body).jsonrpc === "2.0";
  } catch {
    return false;
  }
}

/** A daemon with a session whose journal must stay as it is. */
async function victim(place: Place) {
  const daemon = await place.serve();
  const workdir = place.mkdir("project");
  const { json } = await daemon.http("POST", "/v1/sessions", { workdir });
  const path = join(workdir, ".svc", "sessions", json.session_id, "journal.ndjson");
  const text = Deno.readTextFileSync(path);
  const check = async (what: string) => {
    const { json: { sessions } } = await daemon.http("GET", "/v1/sessions?include_ended=true");
    assertEquals(sessions.length, 1, `${what}: no session was made`);
    assertEquals(Deno.readTextFileSync(path), text, `${what}: the session was left alone`);
  };
  return { daemon, workdir, session_id: json.session_id as string, check };
}

function assertNothing(
  what: string,
  { read: { self: _, ...read }, sockets, loaded, framed }: Loot,
  daemon: Daemon,
) {
  assertEquals([what, read, loaded, framed], [what, {}, [], []]);
  // After many refusals the browser itself makes the page wait, for longer than it is asked.
  assert(Object.values(sockets).every((it) => it === "closed" || it === "nothing"), what);
  assert(!JSON.stringify(read).includes(daemon.token));
}

Deno.test({
  name: "a page of another origin, a rebound name, a file and a sandboxed frame get nothing",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon, workdir, session_id, check } = await victim(place);
    await using evil = evilServer();
    const { port } = evil.addr;
    const file = join(place.dir, "page.html");
    Deno.writeTextFileSync(file, "<!doctype html><title>x</title><body></body>");
    await using browser = await Browser.launch(...SWITCHES);
    const html: string[] = [];
    browser.context.on("response", (response) => {
      const { host } = new URL(response.url());
      const headers = response.headers();
      if (!host.endsWith(`:${daemon.port}`) || !headers["content-type"]?.includes("html")) return;
      html.push(headers["content-security-policy"] ?? "");
    });
    const aim = (host: string): Aim => ({
      host: `${host}:${daemon.port}`,
      read: READ,
      session_id,
      workdir,
      patience_ms: 3_000,
    });

    const pages: [string, string, boolean][] = [
      ["another port", `http://127.0.0.1:${port}/`, false],
      ["another name", `http://${NAME}:${port}/`, false],
      ["a file", toFileUrl(file).href, false],
      ["a sandboxed frame", `http://${NAME}:${port}/frame`, true],
    ];
    for (const [what, url, boxed] of pages) {
      const page = await browser.page(url);
      const frame = boxed ? await boxedFrame(page) : page.mainFrame();
      if (boxed) assertEquals(await frame.evaluate("origin"), "null");
      for (const host of boxed ? ["127.0.0.1"] : ["localhost", NAME]) {
        assertNothing(`${what} at ${host}`, await frame.evaluate(attack, aim(host)), daemon);
        await check(`${what} at ${host}`);
      }
      await page.close();
    }

    // The name that was rebound to us: same origin to the browser, and still nothing.
    const page = await browser.page(`http://${NAME}:${daemon.port}/v1/health`);
    assertEquals(await page.evaluate("location.host"), `${NAME}:${daemon.port}`);
    for (const path of [...READ, "/index.html", "/assets/app.js"]) {
      const answer = await page.evaluate(async (path: string) => {
        const response = await fetch(path);
        return { status: response.status, text: await response.text() };
      }, path);
      assertEquals(answer.status, 403, path);
      assertEquals(JSON.parse(answer.text).error.code, "permission_denied");
      assert(!answer.text.includes(daemon.token));
    }
    await check("a rebound name");
    for (const policy of html) assertStringIncludes(policy, "frame-ancestors 'none'");

    // With the token a page without an origin may open a WebSocket, and nothing else is needed.
    const boxed = await boxedFrame(await browser.page(`http://${NAME}:${port}/frame`));
    const open = ({ url, token }: { url: string; token: string }) =>
      new Promise<string>((tell) => {
        const socket = new WebSocket(url, ["svc.bearer", token, "svc.proto.v1"]);
        socket.onopen = () => {
          tell(socket.protocol);
          socket.close();
        };
        socket.onclose = () => tell("closed");
      });
    const url = `ws://127.0.0.1:${daemon.port}/v1/ws`;
    assertEquals(await boxed.evaluate(open, { url, token: daemon.token }), "svc.proto.v1");
    const wrong = daemon.token.replace(/.$/, (last) => last === "0" ? "1" : "0");
    assertEquals(await boxed.evaluate(open, { url, token: wrong }), "closed");
  },
});

Deno.test({
  name: "the same page robs a server that has no guards",
  ignore,
  async fn() {
    await using evil = evilServer();
    const { server, came } = laxServer();
    await using _ = server;
    await using browser = await Browser.launch(...SWITCHES);
    const page = await browser.page(`http://${NAME}:${evil.addr.port}/frame`);
    for (const frame of [page.mainFrame(), await boxedFrame(page)]) {
      came.length = 0;
      const host = `127.0.0.1:${server.addr.port}`;
      const whom = { host, session_id: "sess_1", workdir: "/w" };
      const aim = { ...whom, read: ["/v1/discover"], patience_ms: 20_000 };
      const loot = await frame.evaluate(attack, aim);
      assertStringIncludes(loot.read["plain /v1/discover"], "secret");
      assertStringIncludes(loot.read["xhr /v1/discover"], "secret");
      assert(loot.loaded.includes("script /v1/discover"));
      assert(Object.values(loot.sockets).includes("open"));
      await until(() => came.some(isFormThatCalls), "the form that spells a call");
      const posted = came.filter((it) => it.startsWith("POST /v1/rpc"));
      // By fetch, beacon and form, which come through even where no answer may be read.
      assert(posted.length > 15, `${posted.length} requests came through`);
    }
  },
});

Deno.test({
  name: "no page without an origin reads the token",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    place.configure(`[http]\nallowed_origins = ["http://good.test:5173"]\n`);
    const { port } = await place.serve();
    for (const origin of [undefined, "null", "http://good.test:5173", `http://localhost:${port}`]) {
      for (
        const [method, path] of [["GET", "/v1/discover"], ["GET", "/v1/health"], [
          "OPTIONS",
          "/v1/rpc",
        ]]
      ) {
        const { headers } = await rawHttp(port, method, path, {
          origin,
          "access-control-request-method": method === "OPTIONS" ? "POST" : undefined,
        });
        const allowed = headers.get("access-control-allow-origin");
        assertNotEquals(allowed, "null");
        assertNotEquals(allowed, "*");
        assertEquals(headers.get("access-control-allow-credentials"), null);
        if (origin === undefined || origin === "null") {
          const cors = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
          assertEquals(cors, [], `${origin} ${path}`);
        }
      }
    }
    for (
      const origin of [
        "https://evil.example",
        "http://good.test",
        "http://good.test:5173.evil.example",
        "NULL",
        "",
      ]
    ) {
      const answer = await rawHttp(port, "GET", "/v1/discover", { origin });
      assertEquals([origin, answer.status], [origin, 403]);
    }
  },
});

Deno.test({
  name: "what the browser shows as a page cannot be framed, nor taken for another type",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    for (
      const path of ["/", "/index.html", "/sessions/x", "/v1/discover", "/v1/health", "/v1/none"]
    ) {
      const { headers, status } = await rawHttp(daemon.port, "GET", path, { accept: "text/html" });
      assertEquals(headers.get("x-content-type-options"), "nosniff", path);
      const type = headers.get("content-type") ?? "";
      assertMatch(type, /^(application\/json|text\/html)/, `${status} ${path}`);
      if (!type.startsWith("text/html")) continue;
      const policy = headers.get("content-security-policy") ?? "";
      assertStringIncludes(policy, "frame-ancestors 'none'", path);
      assertStringIncludes(policy, "default-src", path);
    }
  },
});
