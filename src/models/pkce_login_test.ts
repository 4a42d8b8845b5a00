import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { delay } from "@std/async";
import { granted } from "../../tests/support/permissions.ts";
import { SvcError } from "../protocol/errors.ts";
import { loginInBrowser } from "./pkce_login.ts";

const ignore = !granted("net");
const KEY = "sk-or-v1-0123456789";

interface Exchanged {
  code: string;
  code_verifier: string;
  code_challenge_method: string;
}

/** A provider that exchanges codes. */
function provider(answer: (sent: Exchanged) => Response | Promise<Response>) {
  const exchanged: Exchanged[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const sent = await request.json() as Exchanged;
    exchanged.push(sent);
    return await answer(sent);
  });
  return {
    exchanged,
    origin: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

interface Begun {
  key: Promise<string>;
  /** The provider's page, and what it says of the answer. */
  page: URL;
  callback: string;
  once: string;
}

async function begin(
  origin: string,
  more: { timeout_ms?: number; exchange_ms?: number; signal?: AbortSignal; opens?: boolean } = {},
): Promise<Begun> {
  const shown = Promise.withResolvers<[string, string]>();
  const { opens = true, signal = new AbortController().signal, ...limits } = more;
  const key = loginInBrowser({
    provider: "acme",
    authorize_url: "https://acme.example/auth",
    exchange_url: `${origin}/api/v1/auth/keys`,
    signal,
    ...limits,
    show(page, once) {
      shown.resolve([page, once]);
      return Promise.resolve(opens);
    },
  });
  key.catch(() => {});
  const [text, once] = await shown.promise;
  const page = new URL(text);
  return { key, page, callback: page.searchParams.get("callback_url")!, once };
}

/** Asks as a browser that was sent there; the status and the text. */
async function visit(url: string, init: RequestInit = {}): Promise<[number, string]> {
  const response = await fetch(url, { redirect: "manual", ...init });
  return [response.status, await response.text()];
}

async function refusal(key: Promise<string>): Promise<string> {
  return (await assertRejects(() => key, SvcError)).message;
}

const gives = () => Response.json({ key: KEY, user_id: "u" });

Deno.test({
  name: "a code is exchanged for a key, with the verifier of the challenge",
  ignore,
  async fn() {
    await using server = provider(gives);
    const { key, page, callback, once } = await begin(server.origin);
    assertEquals(page.origin + page.pathname, "https://acme.example/auth");
    assertEquals(page.searchParams.get("code_challenge_method"), "S256");
    assertMatch(callback, /^http:\/\/127\.0\.0\.1:\d+\/callback\/[\w-]{43}$/);
    const led = await fetch(once, { redirect: "manual" });
    await led.body?.cancel();
    assertEquals([led.status, led.headers.get("location")], [303, page.href]);
    assertEquals(led.headers.get("referrer-policy"), "no-referrer");
    const [status, said] = await visit(`${callback}?code=abc`);
    assertEquals([status, said.startsWith("You are logged in")], [200, true]);
    assertEquals(await key, KEY);
    const [{ code, code_verifier, code_challenge_method }] = server.exchanged;
    assertEquals([code, code_challenge_method], ["abc", "S256"]);
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(code_verifier));
    const challenge = new Uint8Array(hash).toBase64({ alphabet: "base64url", omitPadding: true });
    assertEquals(page.searchParams.get("code_challenge"), challenge);
    // The listener is gone.
    await assertRejects(() => fetch(callback));
  },
});

Deno.test({
  name:
    "a wrong path, a post, a script and another name for the address are refused, and change nothing",
  ignore,
  async fn() {
    await using server = provider(gives);
    const { key, callback } = await begin(server.origin);
    const { origin, port } = new URL(callback);
    assertEquals((await visit(`${origin}/callback/guess?code=evil`))[0], 404);
    assertEquals((await visit(`${origin}/callback/?code=evil`))[0], 404);
    assertEquals((await visit(`${callback}/x?code=evil`))[0], 404);
    assertEquals((await visit(callback, { method: "POST", body: "code=evil" }))[0], 405);
    const origins = { headers: { origin: "https://evil.example" } };
    assertEquals((await visit(`${callback}?code=evil`, origins))[0], 403);
    const image = { headers: { "sec-fetch-mode": "no-cors" } };
    assertEquals((await visit(`${callback}?code=evil`, image))[0], 403);
    // As after a name server of evil.example has named this machine.
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
    const { pathname } = new URL(callback);
    const request = `GET ${pathname}?code=evil HTTP/1.1\r\nhost: evil.example:${port}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    const buffer = new Uint8Array(64);
    await connection.read(buffer);
    connection.close();
    assertStringIncludes(new TextDecoder().decode(buffer), "403");
    assertEquals(server.exchanged, []);
    await visit(`${callback}?code=good`);
    assertEquals(await key, KEY);
    assertEquals(server.exchanged.map(({ code }) => code), ["good"]);
  },
});

Deno.test({
  name: "only the first answer counts",
  ignore,
  async fn() {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = provider(async () => {
      await promise;
      return gives();
    });
    const { key, callback } = await begin(server.origin);
    const first = visit(`${callback}?code=first`);
    while (server.exchanged.length === 0) await delay(5);
    assertEquals((await visit(`${callback}?code=second`))[0], 410);
    resolve();
    assertEquals([(await first)[0], await key], [200, KEY]);
    assertEquals(server.exchanged.length, 1);
  },
});

Deno.test({
  name: "an address that leads to the provider twice ends the login: somebody has read it",
  ignore,
  async fn() {
    await using server = provider(gives);
    const opened = await begin(server.origin);
    await visit(opened.once);
    assertEquals((await visit(opened.once))[0], 410);
    assertStringIncludes(await refusal(opened.key), "opened twice");
    const unopened = await begin(server.origin, { opens: false });
    await delay(0);
    assertEquals((await visit(unopened.once))[0], 410);
    assertStringIncludes(await refusal(unopened.key), "opened twice");
  },
});

Deno.test({
  name: "what the provider refuses or cannot answer is said, without the code and its verifier",
  ignore,
  async fn() {
    let answer: () => Response | Promise<Response> = gives;
    await using server = provider(() => answer());
    const outcome = async (query: string, limits = {}) => {
      const { key, callback } = await begin(server.origin, limits);
      const [status, said] = await visit(`${callback}?${query}`);
      assertEquals([status, said.startsWith("The login failed")], [400, true]);
      const message = await refusal(key);
      const [{ code_verifier = "none" } = {}] = server.exchanged.splice(0) as Partial<Exchanged>[];
      assert(!message.includes(code_verifier) && !message.includes("secret-code"), message);
      return message;
    };
    assertEquals(
      await outcome("error=access_denied&error_description=no%1b[2Jthanks"),
      "acme refused the login: no\\u{1b}[2Jthanks",
    );
    assertEquals(await outcome("state=x"), "acme did not return a code");
    const code = "code=secret-code";
    answer = () => Response.json({ error: { message: "Invalid code" } }, { status: 403 });
    assertEquals(await outcome(code), "acme returned status 403 for the code: Invalid code");
    answer = () => new Response("<html>", { status: 502 });
    assertEquals(await outcome(code), "acme returned status 502 for the code");
    answer = () =>
      new Response(null, { status: 307, headers: { location: "https://evil.example" } });
    assertEquals(await outcome(code), "acme returned status 307 for the code");
    for (const sent of [{}, { key: 5 }, []]) {
      answer = () => Response.json(sent);
      assertEquals(await outcome(code), "acme did not return a key");
    }
    answer = () => Response.json({ key: "two words\r\nx-header: y" });
    assertStringIncludes(await outcome(code), "contains a blank");
    answer = () => new Response("x".repeat(100_000));
    assertStringIncludes(await outcome(code), "more than 65536 characters");
    const over = Promise.withResolvers<Response>();
    answer = () => over.promise;
    assertStringIncludes(await outcome(code, { exchange_ms: 100 }), "cannot exchange the code");
    over.resolve(gives());
  },
});

Deno.test({
  name: "nobody waits for ever, and a person can leave",
  ignore,
  async fn() {
    await using server = provider(gives);
    const late = await begin(server.origin, { timeout_ms: 50 });
    assertStringIncludes(await refusal(late.key), "nobody logged in to acme");
    await assertRejects(() => fetch(late.callback));
    const stop = new AbortController();
    const left = await begin(server.origin, { signal: stop.signal });
    stop.abort(new Error("left"));
    await assertRejects(() => left.key, Error, "left");
    await assertRejects(() => fetch(left.callback));
  },
});
