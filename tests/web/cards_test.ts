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
    // Cards of changes group by file, lists of sessions by directory.
    await browser.context.addInitScript(
      "const groupBy = Map.groupBy; Map.groupBy = (all, by) => { " +
        "if (all.every((it) => 'workdir' in it)) return groupBy.call(Map, all, by); " +
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
