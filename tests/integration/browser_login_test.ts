/** `svc login openrouter`: a key that the provider gives out in the browser. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { toText } from "@std/streams";
import { join } from "@std/path";
import { Browser, chromiumPath } from "../support/browser.ts";
import { BROWSER_KEY as KEY, openRouter } from "../support/open_router.ts";
import { can_run_svc, Place, spawnSvc } from "../support/svc.ts";

const ignore = !can_run_svc;
const posix = Deno.build.os !== "windows";

/** Begins `svc login openrouter`; the page is what it prints, what opens it is a program of the test. */
async function begin(place: Place, origin: string, opener = "exit 3") {
  place.configure(`[models.openrouter]\nbase_url = "${origin}/api/v1"\n`);
  const bin = place.mkdir("bin");
  const script = join(bin, "xdg-open");
  Deno.writeTextFileSync(script, `#!/bin/sh\n${opener}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${place.env.PATH}` };
  const child = spawnSvc(place, ["login", "openrouter"], { env });
  const [head, tail] = child.stdout.pipeThrough(new TextDecoderStream()).tee();
  let said = "";
  let page: string | undefined;
  const reader = head.getReader();
  while (page === undefined) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`it ended: ${said}${await toText(child.stderr)}`);
    said += value;
    page = /^ {2}(http:\S+)$/m.exec(said)?.[1];
  }
  // It ends when the other half does.
  reader.cancel().catch(() => {});
  const output = async () => {
    const [{ code, signal }, stdout, stderr] = await Promise.all([
      child.status,
      new Response(tail.pipeThrough(new TextEncoderStream())).text(),
      toText(child.stderr),
    ]);
    return { code, signal, stdout, stderr };
  };
  return { child, page, output, callback: new URL(page).searchParams.get("callback_url")! };
}

const visit = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
};

Deno.test({
  name: "svc login openrouter prints the page, saves the key that it gets, and uses it",
  ignore: ignore || !posix,
  async fn() {
    await using provider = openRouter();
    await using place = new Place();
    const { page, output, callback } = await begin(place, provider.origin);
    assertMatch(page, /\/auth\?callback_url=http%3A%2F%2F127\.0\.0\.1/);
    assertEquals(await visit(callback.replace(/.$/, "") + "?code=guess"), 404);
    assertEquals(await visit(page), 200);
    const { code, stdout, stderr } = await output();
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(stdout, "could not start a browser; open the address yourself");
    assertStringIncludes(stdout, "saved the key of openrouter");
    assertEquals(stdout.includes(KEY), false);
    const path = join(place.home, "keys.json");
    assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    assertEquals(JSON.parse(Deno.readTextFileSync(path)), {
      openrouter: { api_key: KEY, base_url: `${provider.origin}/api/v1` },
    });
    const models = await place.svc(["models", "openrouter"]);
    assertStringIncludes(models.stdout, "openrouter/acme/model");
  },
});

Deno.test({
  name: "the browser that svc opens sees the provider's page in no command line",
  ignore: ignore || !posix,
  async fn() {
    await using provider = openRouter();
    await using place = new Place();
    const seen = join(place.dir, "argv");
    const program = `echo "$@" > ${seen}\n` +
      `exec ${Deno.execPath()} eval 'await (await fetch(Deno.args[0])).text()' "$1"`;
    const { output, callback } = await begin(place, provider.origin, program);
    assertEquals((await output()).code, 0);
    const argv = Deno.readTextFileSync(seen);
    assertMatch(argv, /^http:\/\/127\.0\.0\.1:\d+\/login\/[\w-]{43}\n$/);
    assertEquals(argv.includes(new URL(callback).pathname), false);
    assertEquals(provider.asked, ["/auth", "/api/v1/auth/keys"]);
  },
});

Deno.test({
  name: "Ctrl-C ends the wait and saves nothing; a refusal says why",
  ignore: ignore || !posix,
  async fn() {
    await using provider = openRouter();
    await using place = new Place();
    const left = await begin(place, provider.origin);
    left.child.kill("SIGINT");
    const { code, signal, stderr } = await left.output();
    assertEquals([code, signal, stderr], [130, null, ""]);
    const refused = await begin(place, provider.origin);
    assertEquals(await visit(`${refused.callback}?error=access_denied`), 400);
    const ended = await refused.output();
    assertEquals(ended.code, 1);
    assertStringIncludes(ended.stderr, "openrouter refused the login: access_denied");
    assertEquals([...Deno.readDirSync(place.home)].some(({ name }) => name === "keys.json"), false);
    const other = await place.svc(["login", "openrouter", "--key"]);
    assertStringIncludes(other.stderr, "there is no terminal to ask for the key");
  },
});

Deno.test({
  name: "Chromium: a hostile page cannot answer the login, a person can",
  ignore: ignore || !posix || chromiumPath() === undefined,
  async fn() {
    await using provider = openRouter();
    await using place = new Place();
    const { page, output, callback } = await begin(place, provider.origin);
    await using hostile = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("<title>hostile</title>", { headers: { "content-type": "text/html" } }),
    );
    await using browser = await Browser.launch();
    const evil = await browser.page(`http://localhost:${hostile.addr.port}/`);
    // It even knows the address.
    const outcomes = await evil.evaluate(async (target: string) => {
      const ways = [
        fetch(`${target}?code=evil`),
        fetch(`${target}?code=evil`, { mode: "cors", credentials: "include" }),
        fetch(target, { method: "POST", mode: "no-cors", body: "code=evil" }),
        fetch(`${target}?code=evil`, { mode: "no-cors" }),
      ];
      return (await Promise.allSettled(ways)).map(({ status }) => status);
    }, callback);
    assert(outcomes.slice(0, 2).every((status) => status === "rejected"), outcomes.join());
    const posted = evil.waitForNavigation();
    const form = `<form id=form method=post action="${callback}?code=evil"></form>`;
    await evil.setContent(`${form}<script>form.submit()</script>`, { waitUntil: "commit" });
    assertEquals((await posted)?.status(), 403);
    assertEquals(provider.asked, []);
    const person = await browser.page(page);
    assertStringIncludes(await person.content(), "You are logged in");
    assertEquals((await output()).code, 0);
  },
});
