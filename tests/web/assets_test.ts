/** How the files of the web app are served, and how large they are. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { rawHttp } from "../support/raw.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { appBuilt } from "../support/web.ts";

const PAGE = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const ZIPPED = { "accept-encoding": "gzip, deflate, br" };
/** All JavaScript together, compressed: what the app may weigh. */
const SCRIPT_MAX = 90_000;
const POLICY = "default-src 'self'; connect-src 'self' ws://127.0.0.1:* http://127.0.0.1:*; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; script-src 'self'; " +
  "worker-src 'self' blob:; frame-ancestors 'none'";

async function get(url: string, headers: Record<string, string> = {}) {
  // Not fetch: it decompresses, and does not say so.
  const { hostname, port, pathname } = new URL(url);
  const conn = await Deno.connect({ hostname, port: Number(port) });
  const lines = Object.entries({ host: `${hostname}:${port}`, connection: "close", ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`).join("");
  await conn.write(new TextEncoder().encode(`GET ${pathname} HTTP/1.1\r\n${lines}\r\n`));
  const bytes = new Uint8Array(await new Response(conn.readable).arrayBuffer());
  const end = bytes.findIndex((_, n) =>
    bytes[n] === 13 && bytes[n + 1] === 10 && bytes[n + 2] === 13 && bytes[n + 3] === 10
  );
  const [status, ...head] = new TextDecoder().decode(bytes.subarray(0, end)).split("\r\n");
  return {
    status: Number(status.split(" ")[1]),
    headers: new Headers(head.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string])),
    body: bytes.subarray(end + 4),
  };
}

/** The page's scripts and styles, and what the scripts load. */
async function assets(url: string): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  const visit = async (path: string) => {
    if (found.has(path)) return;
    const { status, body, headers } = await get(`${url}${path}`, { ...PAGE, ...ZIPPED });
    assertEquals([path, status, headers.get("content-encoding")], [path, 200, "gzip"]);
    found.set(path, body);
    const text = new TextDecoder().decode(gunzipSync(body));
    for (const [, name] of text.matchAll(/["']\.\/([\w-]+\.js)["']/g)) {
      await visit(`/assets/${name}`);
    }
    for (const [linked] of text.matchAll(/\/assets\/[\w.-]+/g)) await visit(linked);
  };
  await visit("/");
  return found;
}

Deno.test({
  name: "the page comes with its policy, and is asked for again; its files are kept for good",
  ignore: !can_run_svc,
  async fn() {
    await appBuilt();
    await using place = new Place();
    const { url, port } = await place.serve();
    const page = await get(`${url}/`, { ...PAGE, ...ZIPPED });
    assertEquals(page.headers.get("content-security-policy"), POLICY);
    assertEquals(page.headers.get("cache-control"), "no-cache");
    assertEquals(page.headers.get("content-type"), "text/html; charset=utf-8");
    assertEquals(page.headers.get("x-content-type-options"), "nosniff");
    assertMatch(page.headers.get("etag")!, /^"[0-9a-f]+"$/);
    const plain = await get(`${url}/`, PAGE);
    assertEquals(plain.headers.get("content-encoding"), null);
    assertNotEquals(plain.headers.get("etag"), page.headers.get("etag"));
    const etag = page.headers.get("etag")!;
    const again = await get(`${url}/`, { ...PAGE, ...ZIPPED, "if-none-match": `"x", ${etag}` });
    assertEquals([again.status, again.body.length], [304, 0]);
    // Any view is the same page; data and what is not there are not.
    for (
      const path of ["/sessions/x", "/nowhere", "/sessions/x/lanes/y", "/assets/../../etc/passwd"]
    ) {
      const { status, headers } = await get(`${url}${path}`, { ...PAGE, ...ZIPPED });
      assertEquals([path, status, headers.get("etag")], [path, 200, etag]);
    }
    for (
      const path of ["/v1/none", "/api/none", "/assets/none.js"]
    ) {
      const { status, headers } = await rawHttp(port, "GET", path, PAGE);
      assertEquals([path, status], [path, 404]);
      assertEquals(headers.get("content-type"), "application/json");
    }
    assertEquals((await rawHttp(port, "GET", "/nowhere", {})).status, 404);
    assertEquals((await rawHttp(port, "GET", "/", { host: "evil.test" })).status, 403);
    for (const path of (await assets(url)).keys()) {
      if (path === "/") continue;
      const { headers } = await get(`${url}${path}`, ZIPPED);
      assertEquals(headers.get("cache-control"), "public, max-age=31536000, immutable", path);
      assertMatch(headers.get("etag")!, /^"[0-9a-f]+"$/);
    }
  },
});

Deno.test({
  name: `all JavaScript together is less than ${SCRIPT_MAX} bytes compressed`,
  ignore: !can_run_svc,
  async fn() {
    await appBuilt();
    await using place = new Place();
    const { url } = await place.serve();
    const scripts = [...await assets(url)].filter(([path]) => path.endsWith(".js"));
    const size = scripts.reduce((sum, [, { length }]) => sum + length, 0);
    assert(scripts.length > 5 && size > 10_000);
    assert(size < SCRIPT_MAX, `${size} bytes`);
  },
});
