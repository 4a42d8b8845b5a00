/** Logins at tool servers: by the command, through restarts, refreshed, refused, attacked. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { walk } from "@std/fs";
import { join } from "@std/path";
import { type OAuthToolServer, startOAuthToolServer } from "../support/oauth_tool_server.ts";
import { can_run_svc, Place, spawnSvc } from "../support/svc.ts";
import { httpEntry, policyOf, stdioEntry } from "../support/tool_servers.ts";

const ignore = !can_run_svc;

/** Begins a login by the command, which waits. @returns the address that it shows. */
async function begin(place: Place) {
  const child = spawnSvc(place, ["ctl", "mcp", "login", "web", "--print"]);
  const [shown, kept] = child.stderr.tee();
  let text = "";
  for await (const chunk of shown.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/http\S+\n/.test(text)) break;
  }
  const end = async () => {
    const [{ code }, stdout, stderr] = await Promise.all([
      child.status,
      new Response(child.stdout).text(),
      new Response(kept).text(),
    ]);
    return { code, stdout, stderr };
  };
  return { url: text.match(/http\S+/)![0], end };
}

async function login(place: Place) {
  const begun = await begin(place);
  const page = await fetch(begun.url);
  return { page: await page.text(), ...await begun.end() };
}

async function called(place: Place) {
  const params = { server: "web", tool: "echo", arguments: { text: "ä" } };
  return await place.svc(["ctl", "call", "mcp.call_tool", JSON.stringify(params)]);
}

function placeWith(server: OAuthToolServer): Place {
  const place = new Place();
  place.configure('[log]\nlevel = "debug"\n');
  place.setPolicy(policyOf(httpEntry("web", server.url), stdioEntry("prog")));
  return place;
}

Deno.test({
  name: "a login is made in a browser, kept over a restart, refreshed, and removed",
  ignore,
  async fn() {
    await using server = startOAuthToolServer();
    await using place = placeWith(server);
    const file = join(place.home, "mcp-logins.json");
    const first = await place.serve();
    const before = await called(place);
    assertEquals(before.code, 1);
    assertStringIncludes(before.stderr, "tool server web: it requires a login");
    assertStringIncludes(before.stderr, "svc ctl mcp login");
    assertEquals(server.asked, [], "nobody registers without a person");

    const done = await login(place);
    assertEquals([done.code, done.stdout], [0, "logged in to web\n"]);
    assertMatch(done.page, /^svc has the answer/);
    assertEquals(Deno.statSync(file).mode! & 0o777, 0o600);
    assertEquals((await called(place)).code, 0);
    const listed = await place.svc(["ctl", "mcp", "list"]);
    assertMatch(listed.stdout, /web +http +untrusted +connected, \d+ tools, logged in/);

    // An expired token is refreshed. The server takes no refresh token twice, whoever calls at once.
    server.expire();
    server.asked.length = 0;
    const calls = await Promise.all([1, 2, 3, 4].map(() => called(place)));
    assertEquals(calls.map(({ code }) => code), [0, 0, 0, 0], calls[0].stderr);
    assert(server.asked.includes("POST /token"));
    await first.stop();
    const second = await place.serve();
    assertEquals((await called(place)).code, 0);

    // Secrets stand in the file of logins and nowhere else.
    for await (const { path, isFile } of walk(place.dir, { includeDirs: false })) {
      if (path === file || !isFile) continue;
      const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
      for (const token of server.tokens) assert(!text.includes(token), `${path} has a token`);
    }
    const inside = await place.svc(["ctl", "call", "mcp.list_servers"]);
    for (const token of server.tokens) assert(!inside.stdout.includes(token));

    const out = await place.svc(["ctl", "mcp", "logout", "web"]);
    assertEquals([out.code, out.stdout], [0, "removed the login for web\n"]);
    assertStringIncludes((await called(place)).stderr, "it requires a login");
    assertEquals(await Deno.readTextFile(file), "[]\n");
    const again = await place.svc(["ctl", "mcp", "logout", "web"]);
    assertEquals([again.code, again.stderr.split("\n")[0]], [1, "svc: no saved login for web"]);
    await second.stop();
  },
});

Deno.test({
  name: "a login that is refused, revoked or superseded says so, and can be repeated",
  ignore,
  async fn() {
    await using server = startOAuthToolServer();
    await using place = placeWith(server);
    await place.serve();
    server.page = "refuse";
    const refused = await login(place);
    assertEquals([refused.code, refused.stdout], [1, ""]);
    assertStringIncludes(refused.stderr, "the login was refused: no\\u{1b}[31m thanks");
    server.page = "allow";

    const left = await begin(place);
    assertEquals((await login(place)).code, 0);
    const superseded = await left.end();
    assertEquals(superseded.code, 1);
    assertStringIncludes(superseded.stderr, "another login was started");

    server.revoke();
    assertStringIncludes((await called(place)).stderr, "it requires a login");
    assertEquals((await login(place)).code, 0);
    assertEquals((await called(place)).code, 0);

    const program = await place.svc(["ctl", "mcp", "login", "prog"]);
    assertEquals(program.code, 1);
    assertStringIncludes(program.stderr, "tool server prog is a program on this machine");
    const unknown = await place.svc(["ctl", "mcp", "login", "wep"]);
    assertStringIncludes(unknown.stderr, "did you mean web?");
  },
});

Deno.test({
  name: "the address that waits for the browser takes one answer, of the page that svc opened",
  ignore,
  async fn() {
    await using server = startOAuthToolServer();
    await using place = placeWith(server);
    await place.serve();
    const begun = await begin(place);
    const { searchParams } = new URL(begun.url);
    const callback = searchParams.get("redirect_uri")!;
    const state = searchParams.get("state")!;
    assertEquals(new URL(callback).hostname, "127.0.0.1");
    assertEquals([state.length, searchParams.get("code_challenge_method")], [64, "S256"]);
    const answer = async (query: string, init: RequestInit = {}) => {
      const response = await fetch(`${callback}?${query}`, init);
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await answer("code=stolen"), 400);
    assertEquals(await answer(`code=stolen&state=${"0".repeat(64)}`), 400);
    assertEquals(await answer(`code=stolen&state=${state}`, { method: "POST" }), 404);
    const host = new URL(callback).host.replace("127.0.0.1", "localhost");
    const other = await fetch(callback.replace(new URL(callback).host, host) + `?state=${state}`)
      .catch(() => undefined);
    await other?.body?.cancel();
    assertEquals(other?.status ?? 404, 404);

    const page = await fetch(begun.url);
    assertStringIncludes(page.headers.get("content-security-policy")!, "default-src 'none'");
    await page.body?.cancel();
    assertEquals((await begun.end()).code, 0);
    // What was open for the answer is closed.
    await assertGone(callback);
    assertEquals((await called(place)).code, 0);
  },
});

async function assertGone(url: string): Promise<void> {
  const found = await fetch(url).then(
    async (it) => {
      await it.body?.cancel();
      return true;
    },
    () => false,
  );
  assert(!found, `${url} still answers`);
}

Deno.test({
  name: "a login that leads to plain http elsewhere is not followed",
  ignore,
  async fn() {
    await using server = startOAuthToolServer();
    await using place = placeWith(server);
    await using evil = startOAuthToolServer();
    // The server sends clients to an authorization server that is not on this machine.
    const { origin } = new URL(server.url);
    const proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      const url = new URL(request.url);
      if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) {
        const authorization_servers = ["http://198.51.100.7"];
        return Response.json({ resource: `${url.origin}/mcp`, authorization_servers });
      }
      if (url.pathname !== "/mcp") return new Response(null, { status: 404 });
      await fetch(`${origin}/mcp`, { method: "POST" }).then((it) => it.body?.cancel());
      const metadata = `${url.origin}/.well-known/oauth-protected-resource/mcp`;
      return new Response(null, {
        status: 401,
        headers: { "www-authenticate": `Bearer resource_metadata="${metadata}"` },
      });
    });
    place.setPolicy(policyOf(httpEntry("web", `http://127.0.0.1:${proxy.addr.port}/mcp`)));
    await place.serve();
    const { code, stderr } = await place.svc(["ctl", "mcp", "login", "web"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "its login is at http://198.51.100.7");
    assertEquals(evil.asked, []);
    await proxy.shutdown();
  },
});

Deno.test({
  name: "the command line of the browser has no state of the login",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using server = startOAuthToolServer();
    await using place = placeWith(server);
    await place.serve();
    const bin = place.mkdir("bin");
    const seen = join(bin, "seen");
    const opener = (code: number) =>
      Deno.writeTextFileSync(
        join(bin, "xdg-open"),
        `#!/bin/sh\necho "$*" > ${seen}\nexit ${code}\n`,
        { mode: 0o755 },
      );
    const run = async () => {
      const env = { PATH: `${bin}:${place.env.PATH}` };
      const child = spawnSvc(place, ["ctl", "mcp", "login", "web"], { env });
      const [{ code }, stderr] = await Promise.all([
        child.status,
        new Response(child.stderr).text(),
        child.stdout.cancel(),
      ]);
      return { code, stderr, address: (await Deno.readTextFile(seen)).trim() };
    };
    opener(0);
    const browser = (async () => {
      for (;;) {
        const text = await Deno.readTextFile(seen).catch(() => "");
        if (text.endsWith("\n")) return await (await fetch(text.trim())).text();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    const { code, stderr, address } = await run();
    assertEquals(code, 0, stderr);
    assertMatch(await browser, /^svc has the answer/);
    const state = new URL(stderr.match(/http\S+/)![0]).searchParams.get("state")!;
    assert(!address.includes(state) && !address.includes("code_challenge"), address);
  },
});
