import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { type FetchOptions, type FetchResult, fetchUrl } from "./fetch.ts";

const ignore = !granted("net");

interface Site {
  origin: string;
  port: number;
  asked: string[];
  get(path: string, options?: Partial<FetchOptions>): Promise<FetchResult>;
}

type Handler = (request: Request, url: URL) => Response | Promise<Response>;

/** A test with a real server on loopback. */
function served(name: string, handler: Handler, body: (site: Site) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      const asked: string[] = [];
      const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
        const url = new URL(request.url);
        asked.push(url.pathname);
        return handler(request, url);
      });
      const { port } = server.addr;
      const origin = `http://127.0.0.1:${port}`;
      const { signal } = new AbortController();
      try {
        await body({
          origin,
          port,
          asked,
          get: (path, options) => fetchUrl({ url: `${origin}${path}`, signal, ...options }),
        });
      } finally {
        await server.shutdown();
      }
    },
  });
}

const typed = (body: BodyInit | null, type: string, init: ResponseInit = {}) =>
  new Response(body, { ...init, headers: { "content-type": type, ...init.headers } });

served(
  "text, JSON and XML are given as they are",
  (_, { pathname }) => {
    if (pathname === "/json") return typed('{"a": 1}\n', "application/problem+json");
    if (pathname === "/xml") return typed("<a/>", "application/rss+xml; charset=utf-8");
    if (pathname === "/latin") return typed(new Uint8Array([0xe9]), "text/plain; charset=latin1");
    return typed("héllo", "text/plain;charset=UTF-8");
  },
  async ({ get, origin }) => {
    assertEquals(await get("/"), {
      ok: true,
      output: `HTTP 200 text/plain · 6 bytes · ${origin}/\nhéllo`,
    });
    assertStringIncludes((await get("/json")).output, '\n{"a": 1}');
    assertStringIncludes((await get("/xml")).output, "\n<a/>");
    assertStringIncludes((await get("/latin")).output, "\né");
  },
);

served(
  "HTML is reduced to its text",
  () =>
    typed(
      `<title>T</title><meta charset="windows-1252"><p>Hi <a href="/b">b</a></p><script>x</script>`,
      "text/html",
    ),
  async ({ get, origin }) => {
    const { ok, output } = await get("/");
    assert(ok);
    assertEquals(
      output,
      `HTTP 200 text/html · 91 bytes · ${origin}/\nT\n\nHi b (${origin}/b)`,
    );
  },
);

served(
  "redirects are followed, five of them, and the final address is told",
  (_, { pathname }) => {
    const left = Number(pathname.slice(1));
    if (left === 0) return typed("there", "text/plain");
    return new Response(null, { status: 302, headers: { location: `${left - 1}` } });
  },
  async ({ get, origin, asked }) => {
    assertStringIncludes((await get("/5")).output, `${origin}/0\nthere`);
    asked.length = 0;
    const refused = await get("/6");
    assertEquals(refused.ok, false);
    assertStringIncludes(refused.output, "more than 5 redirects");
    assertEquals(asked.length, 6);
  },
);

served(
  "a redirect goes nowhere that the model may not go itself",
  (_, { searchParams }) =>
    new Response(null, { status: 307, headers: { location: searchParams.get("to")! } }),
  async ({ get, asked, port }) => {
    const to = async (address: string) => {
      asked.length = 0;
      const { ok, output } = await get(`/?to=${encodeURIComponent(address)}`, { own_port: 1234 });
      assertEquals([ok, asked.length], [false, 1]);
      return output;
    };
    assertStringIncludes(await to("file:///etc/passwd"), "only http and https");
    assertStringIncludes(
      await to("http://localhost:1234/v1/discover"),
      "an address of svc itself",
    );
    assertStringIncludes(await to(`http://a:b@127.0.0.1:${port}/`), "credentials");
    assertStringIncludes(await to("http://["), "not a valid URL");
  },
);

Deno.test({ name: "what is no http address is refused", ignore }, async () => {
  const { signal } = new AbortController();
  for (
    const [url, reason] of [
      ["file:///etc/passwd", "only http and https URLs can be fetched, not file:"],
      ["data:text/plain,x", "only http and https"],
      ["not a url", "not a valid URL"],
      ["http://user:secret@a.example/", "credentials"],
      ["http://user@a.example/", "credentials"],
    ]
  ) {
    const { ok, output } = await fetchUrl({ url, signal });
    assertEquals(ok, false);
    assertStringIncludes(output, reason);
  }
});

served(
  "the daemon's own address is refused however it is spelt",
  () => typed("token", "text/plain"),
  async ({ get, port, asked }) => {
    const hosts = [
      ..."127.0.0.1 127.1 127.0.0.1. 127.9.8.7 2130706433 0x7f.1 0177.0.0.1 0 0.0.0.0".split(" "),
      ..."[::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [0:0:0:0:0:0:0:1]".split(" "),
      ..."[::ffff:0.0.0.0] localhost LOCALHOST localhost. a.localhost a.b.localhost.".split(" "),
      ..."loc%61lhost ①②⑦.0.0.1".split(" "),
    ];
    for (const host of hosts) {
      const { ok, output } = await get("", { url: `http://${host}:${port}/`, own_port: port });
      assertEquals(ok, false, host);
      assertStringIncludes(output, "an address of svc itself", host);
    }
    assertEquals(asked, []);
    assertEquals((await get("/", { own_port: port + 1 })).ok, true);
  },
);

Deno.test({
  name: "a name that leads to loopback is the daemon's own address too",
  ignore: ignore || !granted("sys", "read"),
  async fn() {
    const hosts = await Deno.readTextFile("/etc/hosts").catch(() => "");
    const name = /^127\.\S+\s+(?!localhost)(\S+)/m.exec(hosts)?.[1];
    if (name === undefined) return;
    const { signal } = new AbortController();
    const { output } = await fetchUrl({ url: `http://${name}:1234/`, signal, own_port: 1234 });
    assertStringIncludes(output, "an address of svc itself");
  },
});

served(
  "a body too large is cut, and the rest not read",
  (_, { pathname }) => {
    if (pathname === "/declared") {
      // Or the server compresses it, and the size is not declared.
      const headers = { "cache-control": "no-transform" };
      return typed("é".repeat(50_000), "text/plain", { headers });
    }
    const chunk = new TextEncoder().encode("x".repeat(65_536));
    return typed(
      new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }),
      "text/plain",
    );
  },
  async ({ get, origin }) => {
    const { ok, output } = await get("/");
    assert(ok);
    assert(output.startsWith(`HTTP 200 text/plain · more than 1,048,576 bytes · ${origin}/\nxxx`));
    assert(output.endsWith("\n[… cut after 1,048,576 bytes …]"));
    assertLess(output.length, 1024 * 1024 + 300);
    const declared = (await get("/declared", { max_bytes: 101 })).output;
    assertMatch(declared, /^HTTP 200 text\/plain · 100,000 bytes · .*\né{50}\n\[… cut after 101/);
  },
);

served(
  "binary content is named, not shown",
  (_, { pathname }) => {
    const bytes = new Uint8Array([1, 0, 2, 3]);
    if (pathname === "/image") return typed(bytes, "image/png");
    if (pathname === "/text") return typed("plain after all", "application/octet-stream");
    return new Response(bytes);
  },
  async ({ get, origin }) => {
    assertEquals(
      (await get("/image")).output,
      `HTTP 200 image/png · 4 bytes · ${origin}/image\n[binary content, not shown]`,
    );
    assertStringIncludes(
      (await get("/")).output,
      `HTTP 200 no content type · 4 bytes · ${origin}/\n[binary`,
    );
    assertStringIncludes((await get("/text")).output, "\nplain after all");
  },
);

served(
  "a status other than 2xx is not ok and shows the beginning of its body",
  (_, { pathname }) =>
    pathname === "/empty"
      ? new Response(null, { status: 404 })
      : typed("<p>" + "no ".repeat(20_000), "text/html", { status: 500 }),
  async ({ get, origin }) => {
    const { ok, output } = await get("/");
    assertEquals(ok, false);
    assertMatch(output, /^HTTP 500 text\/html · [^\n]+\nno no /);
    assertLess(output.length, 2_200);
    assertEquals(await get("/empty"), {
      ok: false,
      output: `HTTP 404 no content type · 0 bytes · ${origin}/empty`,
    });
  },
);

served(
  "a server that hangs is given up, in its head or in its body",
  async (request, { pathname }) => {
    if (pathname === "/body") {
      return typed(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("begin")),
        }),
        "text/plain",
      );
    }
    await new Promise<void>((resolve) => request.signal.addEventListener("abort", () => resolve()));
    return new Response();
  },
  async ({ get }) => {
    for (const path of ["/head", "/body"]) {
      const { ok, output } = await get(path, { timeout_ms: 150 });
      assertEquals(ok, false);
      assertStringIncludes(output, "no complete answer within 0.15 s");
    }
    const stop = new AbortController();
    const fetching = get("/head", { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("the person said stop")), 50);
    await assertRejects(() => fetching, Error, "the person said stop");
    await assertRejects(() => get("/head", { signal: stop.signal }), Error, "said stop");
  },
);

Deno.test({ name: "a server that is not there is said to be so", ignore }, async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  const { signal } = new AbortController();
  const { ok, output } = await fetchUrl({ url: `http://127.0.0.1:${port}/`, signal });
  assertEquals(ok, false);
  assertMatch(output, /Connection refused/);
});

const METADATA = [
  "http://169.254.169.254/latest/meta-data/",
  "http://0xa9fea9fe/",
  "http://2852039166/",
  "http://169.254.170.2/v2/credentials",
  "http://[::ffff:169.254.169.254]/",
  "http://[64:ff9b::a9fe:a9fe]/",
  "http://[fe80::a9fe:a9fe]/",
  "http://[fd00:ec2::254]/latest/",
  "http://[fd20:ce::254]/",
  "http://100.100.100.200/latest/",
  "http://168.63.129.16/",
  "http://192.0.0.192/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://metadata.google.internal./",
  "http://METADATA/",
];

served(
  "no address at which a cloud hands out credentials is asked, nor by a redirect",
  (_, { searchParams }) => {
    const to = searchParams.get("to");
    return to === null ? typed("reached", "text/plain") : Response.redirect(to, 302);
  },
  async ({ get, origin }) => {
    const { signal } = new AbortController();
    for (const url of METADATA) {
      const { ok, output } = await fetchUrl({ url, signal });
      assertEquals(ok, false);
      assertStringIncludes(output, "credentials", url);
      const led = await get(`/?to=${encodeURIComponent(url)}`);
      assertStringIncludes(led.output, "redirected to");
      assertStringIncludes(led.output, "credentials", url);
    }
    // A private address is, for the operator's own sessions: this very server.
    assertStringIncludes((await get(`/?to=${encodeURIComponent(origin)}`)).output, "reached");
  },
);
