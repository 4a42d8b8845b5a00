/** Refreshed logins at tool servers: by several connections at once, masked, beside a new login. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { type LoginPlace, Logins } from "../../src/features/tool_servers/logins.ts";
import { loginFetch, savedLogin } from "../../src/features/tool_servers/oauth.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { type OAuthToolServer, startOAuthToolServer } from "../support/oauth_tool_server.ts";
import { can_run_svc } from "../support/svc.ts";
import { httpEntry, TestToolServers, TRUSTED, UNTRUSTED } from "../support/tool_servers.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

async function placeForLogins() {
  const dir = await Deno.makeTempDir();
  return {
    logins: join(dir, "mcp-logins.json"),
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

async function login({ servers }: TestToolServers): Promise<void> {
  const begun = await servers.login("web", TRUSTED);
  await (await fetch(begun!.url)).body?.cancel();
  await servers.loginEnd("web", AbortSignal.timeout(8_000));
}

const refreshes = ({ asked }: OAuthToolServer) => asked.filter((it) => it === "POST /token").length;

test("connections of trusted and untrusted sessions refresh a login once", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  await login(it);
  const both = [TRUSTED, UNTRUSTED, TRUSTED, UNTRUSTED];
  for (const scope of both) await it.call("web", "echo", { text: "a" }, { scope });
  server.expire();
  server.asked.length = 0;
  const texts = await Promise.all(
    both.map((scope) => it.call("web", "echo", { text: "b" }, { scope })),
  );
  assertEquals(texts, ["b", "b", "b", "b"]);
  assertEquals(refreshes(server), 1);
  assertEquals((await it.item("web")).logged_in, true);
});

test("a call that is late with an old token gets its successor, and the newest login stays", async () => {
  await using place = await placeForLogins();
  const logins = new Logins(place.logins);
  const at: LoginPlace = { name: "web", url: "https://tools.example/mcp" };
  const made = (n: number) => ({
    access_token: `a${n}`,
    token_type: "Bearer",
    refresh_token: `r${n}`,
  });
  await logins.save(at, { client: { client_id: "x" }, tokens: made(1) });
  const sent: string[] = [];
  const send = loginFetch({ url: at.url, headers: {} }, (_to, init) => {
    const token = (init!.body as URLSearchParams).get("refresh_token")!;
    if (sent.includes(token)) return Promise.resolve(new Response(null, { status: 400 }));
    sent.push(token);
    return Promise.resolve(Response.json(made(Number(token.slice(1)) + 1)));
  }, logins.refreshesOf("web"));
  const calls = await Promise.all([1, 2, 3].map(async () => {
    const saved = (await savedLogin(at, logins, () => {}))!;
    await saved.tokens();
    return async (token: string) => {
      const body = new URLSearchParams({ refresh_token: token });
      const answer = await send("https://tools.example/token", { body });
      const tokens = await answer.json();
      await saved.saveTokens(tokens);
      return tokens.refresh_token;
    };
  }));
  // The second reads what the first has saved; the third has read the login before both.
  assertEquals([await calls[0]("r1"), await calls[1]("r2"), await calls[2]("r1")], [
    ...["r2", "r3", "r2"],
  ]);
  assertEquals(sent, ["r1", "r2"], "no token is sent twice");
  assertEquals((await logins.get(at))?.tokens.refresh_token, "r3");
});

test("a request that a refresh overtook is sent again with the new token", async () => {
  const sent: (string | null)[] = [];
  let saved = "new";
  const ask = loginFetch({
    url: "https://tools.example/mcp",
    headers: {},
    auth: { tokens: () => ({ access_token: saved, token_type: "Bearer" }) },
  }, (_to, init) => {
    const token = new Headers(init!.headers).get("authorization");
    sent.push(token);
    return Promise.resolve(
      new Response(init!.body, { status: token === "Bearer new" ? 200 : 401 }),
    );
  });
  const request = (token: string) =>
    ask("https://tools.example/mcp", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: "{}",
    });
  const answer = await request("old");
  assertEquals([answer.status, await answer.text()], [200, "{}"]);
  assertEquals(sent.splice(0), ["Bearer old", "Bearer new"]);
  // What the current token is refused for is for the login to mend.
  saved = "old";
  const refused = await request("old");
  assertEquals([refused.status, await refused.text()], [401, "{}"]);
  assertEquals(sent, ["Bearer old"]);
});

test("tokens of a refreshed login are masked in results, as those before", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  await login(it);
  await it.call("web", "echo", { text: "a" });
  server.expire();
  await it.call("web", "echo", { text: "a" });
  assertEquals(server.tokens.length, 4, "refreshed on the same connection");
  for (const text of server.tokens) {
    assertEquals(await it.call("web", "echo", { text }), "***");
    assert(it.secrets.includes(text), "masked in the log");
  }
});

test("the end of an earlier login does not remove a new one, and does not mix with it", async () => {
  await using place = await placeForLogins();
  const logins = new Logins(place.logins);
  const at: LoginPlace = { name: "web", url: "https://tools.example/mcp" };
  const made = (client_id: string, refresh_token: string) => ({
    client: { client_id },
    tokens: { access_token: `access of ${refresh_token}`, token_type: "Bearer", refresh_token },
  });
  await logins.save(at, made("first", "r1"));
  const earlier = (await savedLogin(at, logins, () => {}))!;
  await earlier.tokens();
  await logins.save(at, made("second", "r2"));
  await earlier.invalidateCredentials!("tokens");
  await earlier.saveTokens(made("first", "r3").tokens);
  assertEquals((await logins.get(at))?.tokens.refresh_token, "r2");

  await logins.save(at, made("second", "r4"));
  const later = (await savedLogin(at, logins, () => {}))!;
  await later.tokens();
  await later.invalidateCredentials!("tokens");
  assertEquals(await logins.get(at), undefined);
});

test("a server that moves to another authorization server requires a login there", async () => {
  await using place = await placeForLogins();
  await using server = startOAuthToolServer();
  const issuer = "https://before.example";
  await new Logins(place.logins).save({ name: "web", url: server.url }, {
    client: { client_id: "x", issuer },
    tokens: { access_token: "token-before", token_type: "Bearer", refresh_token: "r", issuer },
  });
  await using it = new TestToolServers([httpEntry("web", server.url)], place);
  const { signal } = new AbortController();
  const ask = { server: "web", tool: "echo", args: { text: "a" } };
  const error = await assertRejects(() => it.servers.call(ask, TRUSTED, signal), SvcError);
  assertEquals(error.code, "unauthenticated", error.message);
  assertEquals(error.hint, "log in with `svc ctl mcp login web`");
  assertEquals(server.asked.filter((it) => it.startsWith("POST")), []);
  await login(it);
  assertEquals(await it.call("web", "echo", { text: "a" }), "a");
});

test("an authorization server that never ends its answer is not waited for", async () => {
  const gone = Promise.withResolvers<void>();
  const never = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    const body = new ReadableStream({
      start: (it) => it.enqueue(new TextEncoder().encode("{")),
      cancel: () => gone.resolve(),
    });
    return new Response(body);
  });
  const origin = `http://127.0.0.1:${never.addr.port}`;
  const ask = loginFetch({ url: `${origin}/mcp`, headers: {} }, fetch, new Map(), 200);
  const answer = await ask(`${origin}/token`);
  const ended = answer.text().then(() => "answered", ({ name }) => name);
  const late = AbortSignal.timeout(5_000);
  const waited = new Promise((resolve) => late.onabort = () => resolve("still waiting"));
  assertEquals(await Promise.race([ended, waited]), "TimeoutError");
  await gone.promise;
  await never.shutdown();
});
