/** How logins at tool servers end: cancelled at any time, held open by others, with the daemon. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import type { ExternalServers } from "../../src/features/tool_servers/servers.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { startOAuthToolServer } from "../support/oauth_tool_server.ts";
import { can_run_svc } from "../support/svc.ts";
import { httpEntry, TestToolServers, TRUSTED } from "../support/tool_servers.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

const never = new AbortController().signal;

async function begin(servers: ExternalServers): Promise<URL> {
  return new URL((await servers.login("web", TRUSTED))!.url);
}

async function allow(page: URL): Promise<void> {
  await (await fetch(page)).body?.cancel();
}

function callbackOf(page: URL): URL {
  return new URL(page.searchParams.get("redirect_uri")!);
}

async function answers(url: URL): Promise<boolean> {
  try {
    await (await fetch(url)).body?.cancel();
    return true;
  } catch {
    return false;
  }
}

async function placeForLogins() {
  const dir = await Deno.makeTempDir();
  return {
    logins: join(dir, "mcp-logins.json"),
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

test("a connection that never ends its request does not keep a login from being saved", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  const page = await begin(it.servers);
  const { port } = callbackOf(page);
  using other = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  await other.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n"));
  await allow(page);
  await it.servers.loginEnd("web", AbortSignal.timeout(8_000));
  assertEquals((await it.item("web")).logged_in, true);
});

test("of logins that begin at once, one stays open, and none after the stop", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  const begun = await Promise.allSettled([1, 2, 3].map(() => begin(it.servers)));
  const pages = begun.filter((each) => each.status === "fulfilled").map(({ value }) => value);
  const open = await Promise.all(pages.map((page) => answers(callbackOf(page))));
  assertEquals(open.filter(Boolean).length, 1, "one listens");

  const late = begin(it.servers);
  late.catch(() => {});
  await it.servers.close();
  const left = await Promise.allSettled([late]);
  for (const each of left) {
    if (each.status === "fulfilled") assert(!await answers(callbackOf(each.value)));
  }
  for (const page of pages) assert(!await answers(callbackOf(page)), "nothing listens");
  const refused = await assertRejects(() => begin(it.servers), SvcError);
  assertEquals(refused.code, "shutting_down");
});

test("a logout while the code is exchanged leaves no login", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  const exchanging = Promise.withResolvers<void>();
  const go_on = Promise.withResolvers<void>();
  // Holds back the answer to the code.
  const held = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const url = new URL(request.url);
    const there = new URL(url.pathname + url.search, server.url);
    if (url.pathname === "/token") {
      exchanging.resolve();
      await go_on.promise;
    }
    const { method } = request;
    const body = method === "POST" ? await request.text() : undefined;
    const headers = new Headers(request.headers);
    headers.delete("host");
    const answer = await fetch(there, { method, body, headers, redirect: "manual" });
    const text = (await answer.text()).replaceAll(there.origin, url.origin);
    const named = answer.headers.get("www-authenticate")?.replaceAll(there.origin, url.origin);
    const more: Record<string, string> = named === undefined ? {} : { "www-authenticate": named };
    const location = answer.headers.get("location");
    if (location !== null) more.location = location;
    return new Response(text, {
      status: answer.status,
      headers: { "content-type": "application/json", ...more },
    });
  });
  const url = `http://127.0.0.1:${held.addr.port}/mcp`;
  {
    await using it = new TestToolServers([httpEntry("web", url)], place);
    const page = await begin(it.servers);
    const ended = assertRejects(() => it.servers.loginEnd("web", never), SvcError, "logged out");
    await allow(page);
    await exchanging.promise;
    await it.servers.logout("web");
    go_on.resolve();
    await ended;
    assert(!(await it.item("web")).logged_in);
    // Also not later.
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert(!(await it.item("web")).logged_in);
  }
  await held.shutdown();
});

test("a login at the port of an earlier one takes its place", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = free.addr;
  free.close();
  const oauth = { client_id: "by hand", port };
  await using it = new TestToolServers([httpEntry("web", server.url, { oauth })], place);
  const first = await begin(it.servers);
  const second = await begin(it.servers);
  assertEquals(callbackOf(first).href, callbackOf(second).href);
  assert(first.searchParams.get("state") !== second.searchParams.get("state"));
});

test("an address for the browser that was opened before ends the login", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  const { url, open_url } = (await it.servers.login("web", TRUSTED))!;
  const { state } = Object.fromEntries(new URL(url).searchParams);
  assert(!open_url.includes(state));
  const open = async (address: string) => {
    const answer = await fetch(address, { redirect: "manual" });
    await answer.body?.cancel();
    return [answer.status, answer.headers.get("location")];
  };
  assertEquals(await open(`${open_url}0`), [404, null]);
  assertEquals(await open(open_url), [303, url]);
  const ended = assertRejects(() => it.servers.loginEnd("web", never), SvcError, "opened twice");
  assertEquals(await open(open_url), [410, null]);
  await ended;
  assert(!(await it.item("web")).logged_in);
});

test("a login that fails shows no credential that the server repeats", async () => {
  await using place = await placeForLogins();
  await using server = startHttpToolServer({
    instead: ({ headers }) => new Response(`bad key ${headers.get("x-key")}`, { status: 500 }),
  });
  const entry = httpEntry("web", server.url, { headers: { "x-key": "${WEB_KEY}" } });
  const env = { WEB_KEY: "key-of-the-tests" };
  await using it = new TestToolServers([entry], { ...place, env });
  const { message } = await assertRejects(() => begin(it.servers), SvcError, "bad key ***");
  assert(!message.includes(env.WEB_KEY));
  assert(it.secrets.includes(env.WEB_KEY), "masked in the log");
});

test("a session's note about a server that requires a login says how to log in", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  const { problems } = await it.tools();
  const message = "tool server web: it requires a login or another credential; " +
    "log in with `svc ctl mcp login web`";
  assertEquals(problems, [{ server: "web", message }]);
});
