/** Code in its colours: where its language is known, when it is written to its end, and as text. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const CODE = `// Adds <b>two</b> numbers.
export function add(a: number, b: number): string {
  return \`\${a + b} <img src=x onerror=alert(1)>\`;
}
`;
const FENCED = `Look:

\`\`\`ts
${CODE}\`\`\`

And without a language:

\`\`\`
const plain = 1;
\`\`\`
`;

Deno.test({
  name: "code blocks, files and changes are coloured, as the text that they are; axe finds nothing",
  ignore: no_browser,
  async fn() {
    const edit = { path: "add.ts", old_text: "a + b", new_text: "b + a // swapped" };
    await using it = await Scenario.begin([
      { text: "", calls: [{ name: "read_file", args: { path: "add.ts" } }] },
      { text: "", calls: [{ name: "edit_file", args: edit }] },
      { text: FENCED },
      // It is not written to its end.
      { text: ["```ts\nconst open = 1;\n"], hang_after: 1 },
    ]);
    Deno.writeTextFileSync(join(it.workdir, "add.ts"), CODE);
    await it.turn("show it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const { page } = app;
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(request.url()));
    await app.go(`/sessions/${it.session_id}`);
    const log = page.getByRole("log");
    const block = log.locator("figure.code").first();
    await block.locator(".hl-keyword").first().waitFor();
    assertEquals(await block.locator("code").textContent(), CODE.trimEnd());
    assertEquals(await block.locator(".hl-comment").textContent(), CODE.split("\n")[0]);
    assertEquals(await log.locator("figure.code").nth(1).locator("span[class^=hl]").count(), 0);

    await log.getByRole("button", { name: /read_file/ }).click();
    const file = log.getByRole("group", { name: "Output of read_file" });
    await file.locator(".hl-string").first().waitFor();
    assertEquals(await file.textContent(), CODE);
    const change = log.getByRole("group", { name: "Change of add.ts" });
    await change.locator(".insert span[class^=hl]").first().waitFor();
    const line = CODE.split("\n").find((it) => it.includes(edit.old_text))!;
    assertEquals(
      await change.locator(".insert code").textContent(),
      line.replace(edit.old_text, edit.new_text),
    );
    assertEquals(await log.locator("img").count(), 0);
    assert(loaded.some((url) => url.includes("/assets/grammars")), loaded.join("\n"));
    await app.accessibleEverywhere("coloured code");

    // A search finds what is more than one token.
    await page.getByRole("button", { name: "Search the conversation" }).click();
    await page.getByRole("textbox", { name: "Search the conversation" }).fill("function add(a");
    await page.getByRole("status").filter({ hasText: "2" }).waitFor();
    const marked = () => page.evaluate("[...CSS.highlights.get('found') ?? []].map(String)");
    await until(async () => (await marked() as string[]).length === 3, "the marks");
    // The change has it too, in the lines around it.
    assertEquals(await marked(), Array(3).fill("function add(a"));
    await page.keyboard.press("Escape");

    await it.send("go on");
    const open = log.locator("figure.code").filter({ hasText: "const open" });
    await open.waitFor();
    await page.getByRole("button", { name: "Cancel turn" }).click();
    await page.locator("[aria-live=polite]").filter({ hasText: "The turn ended" })
      .waitFor({ state: "attached" });
    assertEquals(await open.locator("span[class^=hl]").count(), 0);
    app.clean("coloured code");
  },
});

Deno.test({
  name: "code that would take a grammar minutes holds up neither the page nor the code after it",
  ignore: no_browser,
  async fn() {
    const hostile = `${"<script>".repeat(2_400)}!`;
    const text = ["html\n" + hostile, 'json\n{ "last": true }'].map((code) =>
      `\`\`\`${code}\n\`\`\`\n`
    );
    await using it = await Scenario.begin([{ text: text.join("\n") }]);
    await it.turn("show it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const blocks = app.page.getByRole("log").locator("figure.code");
    await blocks.last().locator("span[class^=hl]", { hasText: "true" }).waitFor();
    assertEquals(await blocks.first().locator("code").textContent(), hostile);
    assertEquals(await blocks.first().locator("span[class^=hl]").count(), 0);
    app.clean("hostile code");
  },
});

Deno.test({
  name: "code is coloured on a page that is never idle",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: FENCED }]);
    await it.turn("show it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    // It works in every frame for longer than a frame, and no idle time is left.
    await app.page.addInitScript(`{
      const work = () => {
        for (const end = performance.now() + 20; performance.now() < end;);
        requestAnimationFrame(work);
      };
      requestAnimationFrame(work);
    }`);
    await app.go(`/sessions/${it.session_id}`);
    await app.page.locator("figure.code .hl-keyword").first().waitFor();
  },
});

Deno.test({
  name: "no code, no grammars: they are loaded when there is something to colour",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Only `inline code`, no block." }]);
    await it.turn("say it");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    const loaded: string[] = [];
    app.page.on("request", (request) => loaded.push(request.url()));
    await app.go(`/sessions/${it.session_id}`);
    await app.page.getByRole("log").getByText("inline code").waitFor();
    await app.page.evaluate("new Promise((resolve) => requestIdleCallback(resolve))");
    assertEquals(loaded.filter((url) => url.includes("/assets/grammars")), []);
    app.clean("no code");
  },
});
