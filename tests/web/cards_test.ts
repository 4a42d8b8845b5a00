/** The cards of tool calls, which must not take a page down. */
import { assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

const PATCH = `*** Begin Patch
*** Update File: src/tax.ts
@@
-const rate = 0.19;
+const rate = 0.2;
*** Update File: src/cart.ts
@@
-let total = 0;
+let total = 1;
*** Add File: NEW.md
+# New
*** Delete File: OLD.md
*** End Patch`;

/** A session whose model has applied the patch. */
async function patched(): Promise<Scenario> {
  const it = await Scenario.begin([
    { calls: [{ name: "apply_patch", args: { patch: PATCH } }] },
    { text: "Patched." },
  ]);
  Deno.mkdirSync(`${it.workdir}/src`);
  Deno.writeTextFileSync(`${it.workdir}/src/tax.ts`, "const rate = 0.19;\n");
  Deno.writeTextFileSync(`${it.workdir}/src/cart.ts`, "let total = 0;\n");
  Deno.writeTextFileSync(`${it.workdir}/OLD.md`, "# Old\n");
  const { data } = await it.turn("go");
  assertEquals(data.message, "Patched.");
  return it;
}

Deno.test({
  name: "a patch is shown file by file, also after the page is loaded again",
  ignore: no_browser,
  async fn() {
    await using it = await patched();
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    for (const loaded of ["first", "again"]) {
      const card = app.page.getByRole("log").locator(".tool", { hasText: "apply_patch" });
      await card.getByRole("group", { name: "Change of src/cart.ts" }).waitFor();
      assertEquals(await card.locator(".tool-file").allInnerTexts(), [
        ...["src/tax.ts", "src/cart.ts", "NEW.md", "OLD.md\ndeleted"],
      ], loaded);
      const lines = card.locator(".diff-line:not(.same) code");
      assertEquals(await lines.allInnerTexts(), [
        ...["const rate = 0.19;", "const rate = 0.2;"],
        ...["let total = 0;", "let total = 1;", "# New"],
      ], loaded);
      await app.go(`/sessions/${it.session_id}`);
    }
    await app.accessible("a patch");
    app.clean("a patch");
  },
});

Deno.test({
  name: "a card that cannot be drawn shows the raw call, and the rest of the page stays",
  ignore: no_browser,
  async fn() {
    await using it = await patched();
    await using browser = await Browser.launch();
    // Cards of changes group by file, lists of sessions by directory, and directories by their names.
    await browser.context.addInitScript(
      "const groupBy = Map.groupBy; Map.groupBy = (all, by) => { " +
        "const is_of_list = (it) => typeof it === 'string' || 'workdir' in it; " +
        "if (all.every(is_of_list)) return groupBy.call(Map, all, by); " +
        "throw new Error('seeded fault') }",
    );
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const log = app.page.getByRole("log");
    await log.getByText("This entry cannot be shown: seeded fault").waitFor();
    await log.getByText("*** Delete File: OLD.md").waitFor();
    await log.getByText("Patched.").waitFor();
    await app.accessible("a card that cannot be drawn");
  },
});

const LINES = Array.from({ length: 40 }, (_, n) => `line ${n + 1}\n`).join("");

Deno.test({
  name: "a file that a call has replaced is a difference in its card, also after a restart",
  ignore: no_browser,
  async fn() {
    const args = { path: "a.txt", content: LINES.replace("line 20\n", "twenty\n") };
    await using it = await Scenario.begin([
      { calls: [{ name: "write_file", args }] },
      { text: "Written." },
      { calls: [{ name: "write_file", args }] },
      { text: "Again." },
    ]);
    Deno.writeTextFileSync(`${it.workdir}/a.txt`, LINES);
    await it.turn("go");
    await it.turn("once more");
    await using browser = await Browser.launch();
    for (const loaded of ["first", "after a restart"]) {
      const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
      for (const [width, height] of [[1440, 900], [390, 844]]) {
        await app.page.setViewportSize({ width, height });
        const cards = app.page.getByRole("log").locator(".tool", { hasText: "write_file" });
        await cards.first().getByRole("group", { name: "Change of a.txt" }).waitFor();
        const lines = await cards.first().locator(".diff-line").allTextContents();
        assertEquals(lines, [
          ...["17 line 17", "18 line 18", "19 line 19"],
          ...["20−removed:line 20", "20+added:twenty"],
          ...["21 line 21", "22 line 22", "23 line 23"],
        ], `${loaded} at ${width}`);
        assertEquals(await cards.last().locator(".tool-file").innerText(), "a.txt\nno change");
        assertEquals(await cards.last().locator(".diff").count(), 0);
        assertEquals(await app.page.evaluate("document.documentElement.scrollWidth"), width);
      }
      await app.accessible(`a replaced file, ${loaded}`);
      app.clean(`a replaced file, ${loaded}`);
      await app.page.close();
      await it.restart();
    }
  },
});
