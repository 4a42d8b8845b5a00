/** contract.md section 9: what surface B makes of requests that no well-behaved client sends. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Hire, SharedHire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { rawExchange, rawHttp } from "../support/raw.ts";
import { Place } from "../support/svc.ts";
import { row } from "./row.ts";
import { eventually } from "./shared.ts";

const METHODS = "9. Methods";
const BODIES = "9. Bodies";
const FRAMING = "9. Framing";
const ARTIFACTS = "9. Artifacts";
const EVENTS = "9. Events";

const shared = new SharedHire((place) => {
  const dir = place.mkdir("deploy");
  writePolicy(place, {
    deploy_targets: [
      shellTarget("sick", dir, "echo said", { health_timeout: "10ms" }),
      shellTarget("waits", dir, "sleep 60"),
    ],
  });
}, {});

const sick = { task_type: "deploy", query: "x", extra: { target: "sick" }, effort: "minimal" };
const waiting = { task_type: "deploy", query: "x", extra: { target: "waits" } };
const encoder = new TextEncoder();

/** The head of a POST of a task, for bodies by hand. */
function head(...more: string[]): string {
  const lines = ["host: 127.0.0.1", `x-svc-bearer: ${TOKENS[0]}`, "content-type: application/json"];
  return ["POST /api/task HTTP/1.1", ...lines, ...more, "", ""].join("\r\n");
}

row("contract", METHODS, "each path names the methods it takes", async () => {
  const { id } = await shared.hire.task(sick);
  const paths: [string, string][] = [
    ["/api/capabilities", "GET"],
    ["/api/task", "POST"],
    [`/api/task/${id}`, "GET"],
    [`/api/task/${id}/cancel`, "POST"],
    [`/api/task/${id}/events`, "GET"],
    [`/api/task/${id}/artifacts/deploy.log`, "GET"],
  ];
  for (const [path, allowed] of paths) {
    for (const method of ["OPTIONS", "PUT", "PATCH", "DELETE", "GET", "POST"]) {
      if (method === allowed) continue;
      const { status, headers, json } = await shared.hire.request(method, path);
      assertEquals([status, headers.get("allow")], [405, allowed], `${method} ${path}`);
      assertEquals(json.error.code, "method_not_allowed");
      assertEquals(headers.get("access-control-allow-origin"), null);
    }
  }
});

row(
  "contract",
  METHODS,
  "HEAD answers as GET does, without a body, and needs the token",
  async () => {
    const { id, artifacts: [{ url, size }] } = await shared.hire.task(sick);
    for (const path of ["/api/capabilities", `/api/task/${id}`, `/api/task/${id}/events`, url]) {
      const { status, text } = await shared.hire.request("HEAD", path);
      assertEquals([status, text], [200, ""], path);
      if (path === "/api/capabilities") continue;
      assertEquals((await shared.hire.request("HEAD", path, { token: null })).status, 401, path);
    }
    const { headers } = await shared.hire.request("HEAD", url);
    assertEquals(headers.get("content-length"), String(size));
  },
);

row("contract", METHODS, "a token counts in its header alone, and once", async () => {
  const { port } = shared.hire;
  const of = async (path: string, headers: string) => {
    const lines = `host: 127.0.0.1\r\nconnection: close\r\n${headers}`;
    return (await rawExchange(port, `GET ${path} HTTP/1.1\r\n${lines}\r\n`)).split(" ", 2)[1];
  };
  const token = TOKENS[0];
  assertEquals(await of("/api/task/t-none", `X-SVC-BEARER: ${token}\r\n`), "404");
  assertEquals(await of(`/api/task/t-none?x-svc-bearer=${token}&token=${token}`, ""), "401");
  assertEquals(await of("/api/task/t-none", `authorization: Bearer ${token}\r\n`), "401");
  assertEquals(await of("/api/task/t-none", `cookie: x-svc-bearer=${token}\r\n`), "401");
  const twice = `x-svc-bearer: ${token}\r\nx-svc-bearer: ${token}\r\n`;
  assertEquals(await of("/api/task/t-none", twice), "401");
});

row("contract", METHODS, "no answer is for a cache, or to be taken for another type", async () => {
  const { id, artifacts: [{ url }] } = await shared.hire.task(sick);
  for (
    const path of ["/api/capabilities", `/api/task/${id}`, `/api/task/${id}/events`, url, "/x"]
  ) {
    const { headers } = await shared.hire.request("GET", path);
    const names = ["cache-control", "x-content-type-options", "referrer-policy"];
    const wanted = ["no-store", "nosniff", "no-referrer"];
    assertEquals(names.map((name) => headers.get(name)), wanted, path);
  }
});

row("contract", BODIES, "a chunked body over 1 MiB: 413, before it has ended", async () => {
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const body = head("transfer-encoding: chunked") + chunk.repeat(17);
  assertMatch(await rawExchange(shared.hire.port, body), /^HTTP\/1\.1 413 /);
});

row("contract", BODIES, "a length over 1 MiB: 413, before anything of it was sent", async () => {
  const text = await rawExchange(
    shared.hire.port,
    head("content-length: 99999999", "connection: close"),
  );
  assertMatch(text, /^HTTP\/1\.1 413 /);
});

row("contract", BODIES, "what is not UTF-8, not JSON or no object: 400", async () => {
  const bad = Uint8Array.of(
    ...encoder.encode('{"task_type": "deploy", "query": "'),
    0xff,
    0x22,
    0x7d,
  );
  const length = `content-length: ${bad.length}`;
  const request = Uint8Array.of(...encoder.encode(head(length, "connection: close")), ...bad);
  const answer = await rawExchange(shared.hire.port, request);
  assertMatch(answer, /^HTTP\/1\.1 400 /);
  assertStringIncludes(answer, "not valid UTF-8");
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;
  const inside = `{"task_type":"deploy","query":"x","extra":${'{"a":'.repeat(150_000)}1${
    "}".repeat(150_000)
  }}`;
  for (const text of ["", "{", "nul", '{"task_type": }', deep, inside, "NaN", '"text"']) {
    const { status, json } = await shared.hire.request("POST", "/api/task", { text });
    assertEquals([status, json.error.code], [400, "validation"], text.slice(0, 40));
  }
});

row(
  "contract",
  BODIES,
  "members with names of JavaScript's own are members like others",
  async () => {
    const text = `{"task_type": "deploy", "query": "x", "effort": "minimal", "constructor": 1,
    "__proto__": {"effort": "none"}, "extra": {"target": "sick", "__proto__": {"dry_run": 1}}}`;
    const { status, json } = await shared.hire.request("POST", "/api/task", { text });
    assertEquals([status, json.task_type], [200, "deploy"]);
  },
);

row("contract", BODIES, "a compressed body, or one of another type: 415", async () => {
  const types = ["text/plain", "application/x-www-form-urlencoded", "application/ld+json", ""];
  for (const type of types) {
    const headers = { "content-type": type };
    const { status } = await shared.hire.request("POST", "/api/task", { text: "{}", headers });
    assertEquals(status, 415, type);
  }
  for (const coding of ["gzip", "br", "deflate"]) {
    const headers = { "content-encoding": coding };
    const { status } = await shared.hire.request("POST", "/api/task", { text: "{}", headers });
    assertEquals(status, 415, coding);
  }
  const headers = { "content-type": "Application/JSON; charset=utf-8" };
  const { status } = await shared.hire.request("POST", "/api/task", { text: "{}", headers });
  assertEquals(status, 400, "past the type");
});

row(
  "contract",
  FRAMING,
  "what reads in two ways is refused, and what follows it not read",
  async () => {
    const { port } = shared.hire;
    const smuggled = `GET /api/capabilities HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
    const both = head("content-length: 5", "transfer-encoding: chunked") + `0\r\n\r\n${smuggled}`;
    const twice = head("content-length: 5", "content-length: 6") + `{"a":1${smuggled}`;
    for (
      const request of [both, twice, head("content-length: -1"), "\x16\x03\x01\x02\x00\r\n\r\n"]
    ) {
      const answer = await rawExchange(port, request);
      assertMatch(answer, /^HTTP\/1\.1 400 /);
      assertEquals(answer.match(/HTTP\/1\.1/g)?.length, 1, answer);
    }
  },
);

row("contract", FRAMING, "headers without end: 431", async () => {
  const start = "GET /api/capabilities HTTP/1.1\r\nhost: 127.0.0.1\r\n";
  const large = `${start}x: ${"a".repeat(600_000)}\r\n\r\n`;
  const many = `${start}${Array.from({ length: 300 }, (_, n) => `x-${n}: a\r\n`).join("")}\r\n`;
  for (const request of [large, many]) {
    assertMatch(await rawExchange(shared.hire.port, request), /^HTTP\/1\.1 431 /);
  }
});

row("contract", FRAMING, "requests one after the other are answered in their order", async () => {
  const body = JSON.stringify(sick);
  const last = "GET /api/capabilities HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
  const text = await rawExchange(
    shared.hire.port,
    head(`content-length: ${body.length}`) + body + head("content-length: 2") + "{}" + last,
  );
  assertEquals([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, it]) => it), ["200", "400", "200"]);
  assert(text.indexOf('"task_type":"deploy"') < text.indexOf('"task_types"'));
});

row("contract", ARTIFACTS, "none but those of the task's record are to be had", async () => {
  const { id, artifacts: [{ url }] } = await shared.hire.task(sick);
  const names = [
    ...["../deploy.log", "..%2fdeploy.log", "%2e%2e%2f%2e%2e%2fstate.db", "..%5cstate.db"],
    ...["deploy.log%00", "deploy.log/", "%c0%ae%c0%ae%2fx", ".", "..", "", "DEPLOY.LOG", "*"],
    ...["deploy.log/../../../daemon.json", "//etc/passwd", "deploy%2elog.txt"],
  ];
  for (const name of names) {
    const path = `/api/task/${id}/artifacts/${name}`;
    const headers = { "x-svc-bearer": TOKENS[0] };
    assertEquals((await rawHttp(shared.hire.port, "GET", path, headers)).status, 404, name);
  }
  const encoded = url.replace("deploy.log", "deploy%2elog");
  assertEquals((await shared.hire.request("GET", encoded)).text, "said\n");
});

row(
  "contract",
  ARTIFACTS,
  "the whole of it, to be kept and not shown; ranges are not served",
  async () => {
    const { artifacts: [{ url }] } = await shared.hire.task(sick);
    const { status, headers, text } = await shared.hire.request("GET", url, {
      headers: { range: "bytes=0-1" },
    });
    assertEquals([status, text, headers.get("accept-ranges")], [200, "said\n", "none"]);
    assertEquals(headers.get("content-disposition"), 'attachment; filename="deploy.log"');
    assertStringIncludes(headers.get("content-security-policy")!, "sandbox");
  },
);

row(
  "contract",
  ARTIFACTS,
  "HEAD leaves no file open, nor does who goes in the middle",
  async () => {
    const { artifacts: [{ url }] } = await shared.hire.task(sick);
    const open = () =>
      [...Deno.readDirSync(`/proc/${shared.hire.pid}/fd`)].filter(({ name }) => {
        try {
          return Deno.readLinkSync(`/proc/${shared.hire.pid}/fd/${name}`).endsWith("/deploy.log");
        } catch {
          return false;
        }
      }).length;
    for (let n = 0; n < 30; n++) await shared.hire.request("HEAD", url);
    for (let n = 0; n < 30; n++) {
      using conn = await Deno.connect({ hostname: "127.0.0.1", port: shared.hire.port });
      await conn.write(encoder.encode(
        `GET ${url} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-svc-bearer: ${TOKENS[0]}\r\n\r\n`,
      ));
    }
    assert(await eventually(() => open() === 0), `${open()} are open`);
  },
  { ignore: Deno.build.os !== "linux" },
);

row(
  "contract",
  EVENTS,
  "a seq that is none: 400; since_seq is Last-Event-ID's other name",
  async () => {
    const { id } = await shared.hire.task(sick);
    const path = `/api/task/${id}/events`;
    for (const since of ["abc", "-1", "1.5", "9".repeat(30)]) {
      const headers = { "last-event-id": since };
      assertEquals((await shared.hire.request("GET", path, { headers })).status, 400, since);
    }
    const events = await shared.hire.events(id);
    const { text } = await shared.hire.request("GET", `${path}?since_seq=${events[0].seq}`);
    assertEquals(text.match(/^id:/gm)?.length, events.length - 1);
  },
);

row("contract", EVENTS, "who reads nothing holds up nobody", async () => {
  const id = await shared.hire.queue(waiting);
  const request = `GET /api/task/${id}/events HTTP/1.1\r\nhost: 127.0.0.1\r\n` +
    `x-svc-bearer: ${TOKENS[0]}\r\n\r\n`;
  const stalled = await Promise.all(Array.from({ length: 50 }, async () => {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: shared.hire.port });
    await conn.write(encoder.encode(request));
    return conn;
  }));
  const following = shared.hire.events(id);
  await shared.hire.request("POST", `/api/task/${id}/cancel`);
  assertEquals((await following).at(-1).type, "task.cancelled");
  for (const conn of stalled) conn.close();
});

row(
  "contract",
  "9. Listening",
  "--insecure: an address of the network, for local Hosts only",
  async () => {
    await using place = new Place();
    await using open = await Hire.serve(place, {
      tokens: [],
      args: ["--addr", "0.0.0.0:0", "--insecure"],
    });
    const path = "/api/capabilities";
    assertEquals((await rawHttp(open.port, "GET", path)).status, 200);
    for (const host of [`0.0.0.0:${open.port}`, "192.168.1.2", "evil.example", "localhost.evil"]) {
      assertEquals((await rawHttp(open.port, "GET", path, { host })).status, 403, host);
    }
    assertEquals(await open.stop(), 0);
    assertStringIncludes(await open.log, "SVC_SERVE_TOKENS is empty");
  },
);
