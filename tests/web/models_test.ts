/** The way to a model from the page: a key, a server of this machine, or none. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { walk } from "@std/fs";
import { BROWSER_KEY, openRouter } from "../support/open_router.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

/** A server as Ollama is one; one that hangs never answers. */
function ollama({ hangs = false } = {}) {
  const models = [{ name: "llama3:8b" }, { name: "nomic-embed-text" }];
  const closing = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    if (hangs) await closing.promise;
    return Response.json({ models });
  });
  return {
    host: `127.0.0.1:${server.addr.port}`,
    async close() {
      closing.resolve();
      await server.shutdown();
    },
  };
}

/** The files of a home that contain a text. */
async function filesWith(home: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { path, name } of walk(home, { includeDirs: false })) {
    const content = await Deno.readFile(path).catch(() => new Uint8Array());
    if (new TextDecoder("latin1").decode(content).includes(text)) found.push(name);
  }
  return found;
}

Deno.test({
  name: "without a model a key is pasted, tested and used at once, and again after a restart",
  ignore: no_browser,
  async fn() {
    const api_key = `sk-${crypto.randomUUID()}`;
    const server = startOpenAiServer(() => ({ text: "Hello from the model." }), { api_key });
    const local = ollama();
    await using place = new Place({ OPENAI_BASE_URL: server.url, OLLAMA_HOST: local.host });
    place.configure(`[log]\nlevel = "debug"\n[cortex]\ncurator = false\n[agent]\ntitles = false\n`);
    place.mkdir("project");
    let daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon);
    const { page } = app;
    await page.getByRole("heading", { name: "Choose a model" }).waitFor();
    const card = page.getByRole("region", { name: "API key" });
    await page.getByRole("region", { name: "Ollama" }).getByText("1 model on this machine")
      .waitFor();
    await app.accessibleEverywhere("the ways to a model");

    await card.getByLabel("Provider").selectOption("openai");
    await card.getByLabel("Key", { exact: true }).fill("sk-wrong-key");
    await page.keyboard.press("Enter");
    await card.getByRole("alert").getByText("copy it again from the provider's page").waitFor();
    assertEquals(await card.getByRole("button", { name: "Save without a test" }).count(), 0);
    assertEquals(await filesWith(place.home, "sk-wrong-key"), []);
    await app.accessible("a key that was refused");

    await card.getByLabel("Key", { exact: true }).fill(api_key);
    await page.keyboard.press("Enter");
    await card.getByText(/The key works\. It can use \d+ model/).waitFor();
    await card.getByText("Has a key").waitFor();
    await app.accessible("a key that works");
    assertEquals(await filesWith(place.home, api_key), ["keys.json"]);
    await card.getByRole("button", { name: "Use it" }).click();
    await page.getByRole("heading", { name: "Choose a model" }).waitFor({ state: "detached" });
    await app.focused("#new-session");

    await page.keyboard.type("hello");
    await page.keyboard.press("Enter");
    // The directory is asked for, and then taken by its path.
    await page.getByRole("combobox", { name: "Directory" }).fill(`${place.dir}/project`);
    await page.keyboard.press("Enter");
    await app.focused("#new-session");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("Hello from the model.").waitFor();

    await daemon.stop();
    daemon = await place.serve();
    const next = await AppPage.open(browser, daemon);
    await next.page.getByRole("button", { name: "Model: openai/" }).waitFor();
    assertEquals(await next.page.getByRole("heading", { name: "Choose a model" }).count(), 0);
    const client = await daemon.rpc();
    const { ready, providers } = await client.rpc.call("models.providers");
    const { key_from } = providers.find((it: { provider: string }) => it.provider === "openai");
    assertEquals([ready, key_from], [true, "login"]);
    await client[Symbol.asyncDispose]();
    next.clean("a key in the page");
    await server.close();
    await local.close();
  },
});

Deno.test({
  name: "a provider that cannot be asked is named, and the key can be saved without a test",
  ignore: no_browser,
  async fn() {
    await using place = new Place({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
    const daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon);
    const card = app.page.getByRole("region", { name: "API key" });
    await card.getByLabel("Provider").selectOption("openai");
    await card.getByLabel("Key", { exact: true }).fill("sk-untested");
    await card.getByRole("button", { name: "Test and save" }).click();
    await card.getByRole("alert").getByText("check the network").waitFor();
    assertEquals(await filesWith(place.home, "sk-untested"), []);
    await card.getByRole("button", { name: "Save without a test" }).click();
    await card.getByText("The key is saved, but was not tested.").waitFor();
    assertEquals(await filesWith(place.home, "sk-untested"), ["keys.json"]);
  },
});

Deno.test({
  name: "a provider that gives a key in the browser is logged in to, also after a refusal",
  ignore: no_browser,
  async fn() {
    await using provider = openRouter();
    await using place = new Place();
    place.configure(`[models.openrouter]\nbase_url = "${provider.origin}/api/v1"\n`);
    let daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon, "/settings");
    const { page } = app;
    const card = page.getByRole("region", { name: "API key" });
    await card.getByLabel("Provider").selectOption("openai");
    assertEquals(await card.getByRole("button", { name: /^Log in/ }).count(), 0);
    await card.getByLabel("Provider").selectOption("openrouter");

    provider.refuses = true;
    await card.getByRole("button", { name: "Log in with OpenRouter" }).click();
    await card.getByRole("alert").getByText("openrouter refused the login: denied by you")
      .waitFor();
    await app.accessible("a login that was refused");
    assertEquals(await filesWith(place.home, BROWSER_KEY), []);

    provider.refuses = false;
    await card.getByRole("button", { name: "Log in with OpenRouter" }).click();
    await card.getByText("The key works. It can use 1 model").waitFor();
    assertEquals(await filesWith(place.home, BROWSER_KEY), ["keys.json"]);
    app.clean("a login in the browser");
    await daemon.stop();
    daemon = await place.serve();
    await using client = await daemon.rpc();
    const { providers } = await client.rpc.call("models.providers");
    const { key_from } = providers.find((it: { provider: string }) => it.provider === "openrouter");
    assertEquals(key_from, "login");
  },
});

Deno.test({
  name:
    "a login whose page does not answer is waited for, also after a reload and beside another tab",
  ignore: no_browser,
  async fn() {
    await using provider = openRouter();
    // While it is asked, the login has already ended.
    const local = ollama({ hangs: true });
    await using place = new Place({ OLLAMA_HOST: local.host });
    place.configure(`[models.openrouter]\nbase_url = "${provider.origin}/api/v1"\n`);
    const daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon, "/settings");
    const cardOf = ({ page }: AppPage) => page.getByRole("region", { name: "API key" });
    const card = cardOf(app);
    await card.getByLabel("Provider").selectOption("openrouter");
    provider.waits = true;
    await card.getByRole("button", { name: "Log in with OpenRouter" }).click();
    await card.getByText("Waiting until you agree").waitFor();
    const link = card.getByRole("link", { name: "the page of the login" });
    const url = await link.getAttribute("href");
    await app.page.reload();
    await app.connected();
    await card.getByText("Waiting until you agree").waitFor();
    assertEquals(await link.getAttribute("href"), url);
    assertEquals(await card.getByLabel("Provider").inputValue(), "openrouter");
    await app.accessible("a login that waits");
    // Another tab knows nothing of it.
    const other = await AppPage.open(browser, daemon, "/settings");
    await cardOf(other).getByLabel("Provider").waitFor();
    assertEquals(await cardOf(other).getByText("Waiting until you agree").count(), 0);

    provider.waits = false;
    await link.click();
    await card.getByText("The key works. It can use 1 model").waitFor();
    await app.page.reload();
    await app.connected();
    await card.getByLabel("Provider").waitFor();
    assertEquals(await card.getByText("Waiting until you agree").count(), 0);
    app.clean("a login that waits");
    other.clean("another tab");
    await local.close();
  },
});

Deno.test({
  name: "one goes on without a model, and finds the ways to one in the settings",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, daemon);
    const { page } = app;
    await page.getByRole("button", { name: "Try without a model" }).click();
    await page.getByRole("heading", { name: "Choose a model" }).waitFor({ state: "detached" });
    await app.focused("#new-session");
    await page.reload();
    await page.getByText("No sessions yet").waitFor();
    assertEquals(await page.getByRole("heading", { name: "Choose a model" }).count(), 0);
    await app.go("/settings");
    await page.getByRole("region", { name: "API key" }).waitFor();
    await app.accessible("models in the settings");
    app.clean("without a model");
  },
});

Deno.test({
  name: "a local server that hangs holds nobody up, and no key is saved for one",
  ignore: !can_run_svc,
  async fn() {
    const local = ollama({ hangs: true });
    await using place = new Place({ OLLAMA_HOST: local.host });
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const begun = performance.now();
    const { ready, servers } = await client.rpc.call("models.providers");
    const took_ms = performance.now() - begun;
    const { running } = servers.find((it: { provider: string }) => it.provider === "ollama");
    assertEquals([ready, running], [false, false]);
    assert(took_ms < 5_000, `${took_ms}`);
    const save = (provider: string, key = "sk-x") =>
      client.rpc.call("models.save_key", { provider, key });
    await assertRejects(() => save("ollama"), Error, "ollama needs no API key");
    await assertRejects(() => save("nobody"), Error, "unknown model provider");
    await assertRejects(() => save("openai", "two words"), Error, "contains a blank");
    await daemon.kill();
    await local.close();
  },
});

Deno.test({
  name: "on a phone the first page has targets for fingers, and boxes that need no zoom",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using browser = await shared.profile();
    const { page } = await AppPage.open(browser, daemon);
    const card = page.getByRole("region", { name: "API key" });
    await card.waitFor();
    await page.getByRole("button", { name: /^Directory/ }).click();
    await page.locator(".picker-panel input").waitFor();
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      const wrong = await page.evaluate(() => {
        // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
        const { document, getComputedStyle } = globalThis as any;
        const selector = "main :is(button, select, input, textarea, .check, [role=option])";
        // deno-lint-ignore no-explicit-any -- elements
        return [...document.querySelectorAll(selector)].filter((it: any) => {
          const { width, height } = (it.closest(".check") ?? it).getBoundingClientRect();
          const size = parseFloat(getComputedStyle(it).fontSize);
          const typed = it.matches("select, textarea, input:not([type=checkbox])");
          return height > 0 && (height < 44 || width < 44 || typed && size < 16);
          // deno-lint-ignore no-explicit-any -- elements
        }).map((it: any) => it.outerHTML.slice(0, 200));
      });
      assertEquals([width, wrong], [width, []]);
      const scrolls = "document.documentElement.scrollWidth > innerWidth";
      assertEquals(await page.evaluate(scrolls), false);
    }
  },
});
