/** What a model writes in Markdown, as elements. */
import { assertEquals } from "@std/assert";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const TEXT = `# Head &amp; more

One **strong** and *em* and ~~gone~~ and \`<code> &amp;\`
on two lines, &copy; &lt;b&gt; <i>raw</i> \\*not em\\*, [web](https://example.com/?a=1&b=2),
[bad](javascript:alert(1)), https://example.org and ![a picture](https://example.com/x.png).

10~20 and 30~40, **内容。**后续 https://example.net。谢谢

> quoted
> > twice

3. three
4. four
   - [x] done
   - [ ] open

| left | right |
|:-----|------:|
| a    | **b** |

---

    indented & code
`;

Deno.test({
  name: "Markdown is drawn element by element, entities as characters, HTML as text",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: TEXT }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const said = app.page.locator("[data-role=assistant]");
    await said.last().getByText("indented").waitFor();
    const all = (selector: string) =>
      app.page.locator(`[data-role=assistant] ${selector}`).allTextContents();
    assertEquals(await all(".md-h1"), ["Head & more"]);
    assertEquals(await all("strong"), ["strong", "内容。", "b"]);
    assertEquals([await all("em"), await all("del")], [["em"], ["gone"]]);
    assertEquals(await all("p > code"), ["<code> &amp;"]);
    const [paragraph] = await said.locator("p", { hasText: "on two lines" }).allInnerTexts();
    assertEquals(paragraph.split("\n")[1], "on two lines, © <b> <i>raw</i> *not em*, web,");
    const links = await said.locator(".markdown a").evaluateAll((found) =>
      found.map((it) => [it.textContent, it.getAttribute("href"), it.getAttribute("title")])
    );
    const web = "https://example.com/?a=1&b=2";
    const [org, picture] = ["https://example.org", "https://example.com/x.png"];
    const net = "https://example.net";
    assertEquals(links, [
      ["web", web, web],
      [org, org, org],
      ["a picture", picture, picture],
      [net, net, net],
    ]);
    assertEquals(await said.locator("blockquote blockquote").allTextContents(), ["twice"]);
    assertEquals(await said.locator("ol").getAttribute("start"), "3");
    assertEquals(await all("ul > li"), ["☑ done", "☐ open"]);
    assertEquals(await said.locator("th").evaluateAll((all) => all.map((it) => it.align)), [
      "left",
      "right",
    ]);
    assertEquals(await said.locator("hr").count(), 1);
    await app.accessible("Markdown");
    app.clean("Markdown");
  },
});

const MATHS = `A line $\\frac{a}{b}$ costs $5.

$$
\\sum_{n=1}^{N} n
$$

Wrong $\\frac{a$ and $\\href{javascript:alert(1)}{x}$ and $\\includegraphics{https://example.com/x}$.
`;

Deno.test({
  name: "formulas are drawn when there are some, wrong ones as they were written, none acts",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "plain" }, { text: MATHS }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/cost");
    const asked: string[] = [];
    app.page.on("request", (request) => void asked.push(request.url()));
    await app.go(`/sessions/${it.session_id}`);
    const log = app.page.getByRole("log", { name: "Conversation" });
    await log.getByText("plain").waitFor();
    const loads = () => asked.filter((url) => url.includes("/assets/formula-")).length;
    assertEquals(loads(), 0);
    await it.turn("more");
    await log.locator("math").nth(1).waitFor();
    assertEquals(loads(), 1);
    assertEquals(await log.locator("math mfrac").count(), 1);
    assertEquals(await log.getByRole("group", { name: "Formula" }).locator("math").count(), 1);
    await log.getByText("costs $5.").waitFor();
    await log.getByText("$\\frac{a$").waitFor();
    assertEquals(await log.locator(":is(a, img, [href], [src])").count(), 0);
    assertEquals(asked.filter((url) => url.includes("example.com")), []);
    await app.accessible("formulas");
    app.clean("formulas");
  },
});

const ODD = `[entity](https://example.com/?a=1&amp;b=2) and [named][1] and [relative](https:/x)
[![badge](https://example.com/badge.png)](https://ci.example) and turned &#x202e;round

${"> ".repeat(300)}deep

after[^1]

[1]: https://one.example
[^1]: Smith
`;

Deno.test({
  name: "links have their addresses, none is in another, and what is hidden is written out",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: ODD }]);
    await it.turn("go");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const said = app.page.locator("[data-role=assistant]");
    await said.getByText("Smith").waitFor();
    assertEquals(
      await said.locator("a").evaluateAll((all) =>
        all.map((it) => [it.textContent, it.getAttribute("href")])
      ),
      [
        ["entity", "https://example.com/?a=1&b=2"],
        ["named", "https://one.example"],
        ["badge", "https://ci.example"],
      ],
    );
    await said.getByText("turned \\u{202e}round").waitFor();
    await said.locator(".md-written").getByText("deep").waitFor();
    await said.getByText("after[^1]").waitFor();
    await app.accessible("odd Markdown");
    app.clean("odd Markdown");
  },
});
