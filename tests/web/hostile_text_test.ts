/** What models, tools and people write is shown, and does nothing. */
import { assert, assertEquals } from "@std/assert";
import { countRuns, IMAGE } from "../support/hostile.ts";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";
import { BYPASSES } from "./bypasses.ts";

const shared = new SharedBrowser();

/** Runs in the page: what is drawn of the conversation that could act. */
function living() {
  // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
  const { document, ran } = globalThis as any;
  const acting =
    "script,style,iframe,object,embed,link,meta,base,form,svg:not(.icon),math,video,audio";
  const drawn = [...document.querySelectorAll(".markdown *")];
  return {
    ran: ran ?? 0,
    acting: document.querySelectorAll(`[role=log] :is(${acting})`).length,
    handlers: drawn.flatMap((it) => it.getAttributeNames())
      .filter((name: string) => name.startsWith("on") || ["style", "id", "name"].includes(name)),
    links: drawn.filter((it) => it.tagName === "A")
      .map((it) => it.getAttribute("href"))
      .filter((href: string | null) => href === null || !/^(https?|mailto):/.test(href)),
    images: drawn.filter((it) => it.tagName === "IMG")
      .map((it) => it.getAttribute("src").slice(0, 11))
      .filter((src: string) => src !== "data:image/"),
  };
}

Deno.test({
  name:
    `${BYPASSES.length} ways past a sanitiser: nothing runs, nothing is fetched, the policy is never asked`,
  ignore: no_browser,
  async fn() {
    const answers = BYPASSES.map((text) => ({ text: [`${text}\n\nend`] }));
    await using it = await Scenario.begin([
      { text: BYPASSES.join("\n\n") },
      {
        text: IMAGE,
        calls: [{ id: "c1", name: "run_command", args: { command: `printf '${IMAGE}'` } }],
      },
      { text: IMAGE },
      ...answers,
    ], { start: { title: IMAGE } });
    await using browser = await shared.profile();
    await countRuns(browser.context);
    const app = await AppPage.open(browser, it.daemon);
    const requested: string[] = [];
    app.page.on("request", (request) => {
      if (!request.url().startsWith(it.daemon.url)) requested.push(request.url());
    });
    const fine = async (what: string) => {
      const { ran, acting, handlers, links, images } = await app.page.evaluate(living);
      assertEquals([what, ran, acting, handlers, links, images], [what, 0, 0, [], [], []]);
    };
    await app.go(`/sessions/${it.session_id}`);
    const log = app.page.getByRole("log");
    await it.turn(IMAGE);
    await fine("all in one text");
    await it.turn(IMAGE);
    await log.getByRole("group", { name: "Output of run_command" }).getByText(IMAGE).waitFor();
    await fine("a command's output");
    for (const [n, text] of BYPASSES.entries()) {
      await it.turn(String(n));
      await log.locator("[data-role=user]", { hasText: new RegExp(`^You:${n}$`) }).waitFor();
      await log.locator("[data-role=assistant]", { hasText: /^end\s*$/ }).last().waitFor();
      await fine(text);
    }
    await app.page.goto(`${it.daemon.url}/`);
    await app.page.getByRole("table").getByText(IMAGE).waitFor();
    await app.page.waitForFunction('document.title.startsWith("Sessions")');
    assertEquals(requested.filter((url) => !url.startsWith("data:")), []);
    app.clean("all of it");
  },
});

Deno.test({
  name: "Markdown without end in depth or width is drawn in part, and the view stays",
  ignore: no_browser,
  async fn() {
    const width = 5_000;
    const table = `${"|a".repeat(width)}\n${"|-".repeat(width)}\n${"|x\n".repeat(300)}`;
    const texts = [`${"> ".repeat(20_000)}deep`, `${"1. ".repeat(20_000)}long`, `${table}\nwide`];
    await using it = await Scenario.begin(texts.map((text) => ({ text: [text] })));
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const log = app.page.getByRole("log");
    for (const word of ["deep", "long", "wide"]) {
      await it.turn(word);
      await log.locator("[data-role=assistant]", { hasText: word }).first().waitFor();
      const drawn = await log.locator("blockquote, ol, td").count();
      assert(drawn < 100, `${word}: ${drawn}`);
    }
    app.clean("Markdown without end");
  },
});
