/** How the files of the web app are served, and how large they are. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { rawHttp } from "../support/raw.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { appBuilt } from "../support/web.ts";

const PAGE = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const BROWSER = { "accept-encoding": "gzip, deflate, br, zstd" };
const GZIP = { "accept-encoding": "gzip" };
/** Bytes of all JavaScript together, gzipped, but for what is left out below. */
const SCRIPT_MAX = 150_000;
/**
 * Not counted, and loaded when they are first needed: the view of changes, the highlighter's grammars,
 * what draws formulas and diagrams.
 */
const LEFT_OUT = ["diagram", "diff_view", "formula", "grammars"];
/** Bytes of the JavaScript, gzipped, that the page loads before it shows its first view. */
const FIRST_MAX = 45_000;
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

/** The page's scripts and styles, and what the scripts load: gzipped, by their paths. */
async function assets(url: string): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  const visit = async (path: string) => {
    if (found.has(path)) return;
    const { status, body, headers } = await get(`${url}${path}`, { ...PAGE, ...GZIP });
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

/** Of files by their paths, those that are JavaScript. */
function scriptsOf(files: Map<string, Uint8Array>): { path: string; size: number }[] {
  return [...files].filter(([path]) => path.endsWith(".js"))
    .map(([path, { length }]) => ({ path, size: length }));
}

function sum(files: { size: number }[]): number {
  return files.reduce((total, { size }) => total + size, 0);
}

Deno.test({
  name: "the page comes with its policy, and is asked for again; its files are kept for good",
  ignore: !can_run_svc,
  async fn() {
    await appBuilt();
    await using place = new Place();
    const { url, port } = await place.serve();
    const page = await get(`${url}/`, { ...PAGE, ...BROWSER });
    assertEquals(page.headers.get("content-security-policy"), POLICY);
    assertEquals(page.headers.get("cache-control"), "no-cache");
    assertEquals(page.headers.get("content-type"), "text/html; charset=utf-8");
    assertEquals(page.headers.get("x-content-type-options"), "nosniff");
    assertMatch(page.headers.get("etag")!, /^"[0-9a-f]+-br"$/);
    const plain = await get(`${url}/`, PAGE);
    assertEquals(plain.headers.get("content-encoding"), null);
    assertNotEquals(plain.headers.get("etag"), page.headers.get("etag"));
    const etag = page.headers.get("etag")!;
    const again = await get(`${url}/`, { ...PAGE, ...BROWSER, "if-none-match": `"x", ${etag}` });
    assertEquals([again.status, again.body.length], [304, 0]);
    // Any view is the same page; data and what is not there are not.
    for (
      const path of ["/sessions/x", "/nowhere", "/sessions/x/lanes/y", "/assets/../../etc/passwd"]
    ) {
      const { status, headers } = await get(`${url}${path}`, { ...PAGE, ...BROWSER });
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
    // Diagrams are drawn in a page of their own, which reaches nothing.
    const diagram = (await get(`${url}/diagram.html`, { ...PAGE, ...BROWSER })).headers;
    assertMatch(
      diagram.get("content-security-policy")!,
      /^default-src 'none'; script-src( 'sha256-[\w+/]{43}='){2}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts$/,
    );
    for (const path of (await assets(url)).keys()) {
      if (path === "/") continue;
      const { headers } = await get(`${url}${path}`, BROWSER);
      assertEquals(headers.get("cache-control"), "public, max-age=31536000, immutable", path);
      assertMatch(headers.get("etag")!, /^"[0-9a-f]+-(br|gzip)"$/);
    }
  },
});

Deno.test({
  name:
    "a file comes in the coding that is smallest of those that are taken, each with its own tag",
  ignore: !can_run_svc,
  async fn() {
    await appBuilt();
    await using place = new Place();
    const { url } = await place.serve();
    const [{ path }] = scriptsOf(await assets(url)).sort((a, b) => b.size - a.size);
    const asked = async (coding: string | undefined) => {
      const { headers, body } = await get(
        `${url}${path}`,
        coding ? { "accept-encoding": coding } : {},
      );
      assertEquals(headers.get("vary"), "Origin, Accept-Encoding");
      return { coding: headers.get("content-encoding"), etag: headers.get("etag")!, body };
    };
    const br = await asked("gzip, deflate, br, zstd");
    const gzip = await asked("br;q=0, gzip;q=0.5");
    const plain = await asked(undefined);
    assertEquals([br.coding, gzip.coding, plain.coding], ["br", "gzip", null]);
    assertEquals((await asked("deflate")).coding, null);
    assertEquals((await asked("*")).coding, "br");
    assertEquals(new Set([br, gzip, plain].map(({ etag }) => etag)).size, 3);
    assert(br.body.length < gzip.body.length && gzip.body.length < plain.body.length);
    const identity = await fetch(`${url}${path}`, { headers: { "accept-encoding": "identity" } });
    const text = await identity.text();
    for (const unpacked of [brotliDecompressSync(br.body), gunzipSync(gzip.body)]) {
      assert(new TextDecoder().decode(unpacked) === text, "another content");
    }
  },
});

Deno.test({
  name: `all JavaScript together is less than ${SCRIPT_MAX} bytes compressed, ` +
    `what the page begins with less than ${FIRST_MAX}`,
  ignore: !can_run_svc,
  async fn() {
    await appBuilt();
    await using place = new Place();
    const { url } = await place.serve();
    const files = await assets(url);
    const scripts = scriptsOf(files);
    const left_out = scripts.filter(({ path }) =>
      LEFT_OUT.some((name) => path.startsWith(`/assets/${name}-`))
    );
    assertEquals(left_out.length, LEFT_OUT.length);
    const counted = scripts.filter((it) => !left_out.includes(it));
    assert(counted.length > 5 && sum(counted) > 10_000);
    assert(sum(counted) < SCRIPT_MAX, `${sum(counted)} bytes: ${JSON.stringify(counted)}`);

    const html = new TextDecoder().decode(gunzipSync(files.get("/")!));
    const first = scripts.filter(({ path }) => html.includes(path));
    assert(sum(first) < FIRST_MAX, `${sum(first)}: ${JSON.stringify(first)}`);
    // What runs before the first paint, and the app; neither waits for another file.
    assertEquals(first.length, 2);
    for (const { path } of first) {
      const code = new TextDecoder().decode(gunzipSync(files.get(path)!));
      assertEquals(code.match(/(?:from|import)\s*"\.\//g), null, path);
    }
    for (const { path } of left_out) assert(!html.includes(path), `the page loads ${path}`);
  },
});
