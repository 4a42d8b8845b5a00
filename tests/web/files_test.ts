/** The panel of the files of a session's directory. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Browser } from "../support/browser.ts";
import { tinyPng } from "../support/media.ts";
import { Scenario } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";
import { write } from "./changes_scene.ts";

Deno.test({
  name: "the tree opens by keyboard and mouse, shows files as what they are, and finds names",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [write("src/deep/main.ts", "const answer = 42;\n")] },
      { text: "done" },
      { calls: [write("src/deep/main.ts", "const answer = 43;\n"), write("src/new.ts", "")] },
      { text: "done" },
    ]);
    const at = (path: string) => join(it.workdir, path);
    Deno.mkdirSync(at("docs"));
    Deno.writeTextFileSync(
      at("docs/guide.md"),
      "# Guide\n\n<script>alert(1)</script>\n\n**bold** [x](javascript:alert(1))\n",
    );
    Deno.writeFileSync(at("dot.png"), tinyPng());
    Deno.writeFileSync(at("data.bin"), new Uint8Array([1, 0, 2]));
    Deno.symlinkSync("/etc", at("etc"));
    Deno.writeTextFileSync(at("<b>\u202egnp.exe"), "<i>hostile</i>\u202e\n");
    await it.turn("write");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await page.getByRole("button", { name: "Files", exact: true }).click();
    const tree = page.getByRole("tree", { name: "Files" });
    const item = (name: string) => tree.getByRole("treeitem", { name, exact: true });
    await item("src").waitFor();
    await app.accessible("the tree");

    await tree.focus();
    const active = () =>
      page.evaluate(`document.getElementById(
        document.activeElement.getAttribute("aria-activedescendant"))?.textContent`);
    await page.keyboard.press("Home");
    assertEquals(await active(), "docs");
    await page.keyboard.press("s");
    assertEquals(await active(), "src");
    await page.keyboard.press("ArrowRight");
    await item("deep").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await item("main.ts").waitFor();
    assertEquals(await item("main.ts").getAttribute("aria-level"), "3");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    const text = page.getByRole("region", { name: "Text of src/deep/main.ts" });
    await text.getByText("const").waitFor();
    await text.locator(".hl-keyword").waitFor();
    await app.focused("#file-heading");
    await app.accessibleEverywhere("a file");
    // What the agent writes is there by itself.
    await it.turn("change");
    await text.getByText("43").waitFor();

    const back = page.getByRole("button", { name: "Back to the files" });
    await back.click();
    await item("new.ts").waitFor();
    await item("guide.md").waitFor({ state: "detached" });
    await item("docs").click();
    await item("guide.md").click();
    const drawn = page.getByRole("region", { name: "Preview of docs/guide.md" });
    await drawn.locator("strong", { hasText: "bold" }).waitFor();
    assertEquals(await drawn.locator("script, a").count(), 0);
    await page.getByRole("button", { name: "As text" }).click();
    await page.getByText("# Guide").waitFor();
    await back.click();
    await item("dot.png").click();
    await page.getByRole("img", { name: "dot.png" }).waitFor();
    await back.click();
    await item("data.bin").click();
    await page.getByText("This file is neither text nor an image.").waitFor();
    await back.click();
    await tree.getByText("link out of the directory").waitFor();
    await item("<b>\\u{202e}gnp.exe").click();
    await page.getByText("<i>hostile</i>\\u{202e}").waitFor();
    await back.click();

    await page.getByRole("searchbox", { name: "Find a file by name" }).fill("main deep");
    const found = page.getByRole("list", { name: "Files found" });
    await found.getByRole("button", { name: "main.ts" }).click();
    await text.waitFor();
    await app.accessible("a file that was found");
    await page.setViewportSize({ width: 390, height: 844 });
    await app.accessible("a file on a phone");
    assert(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
    await page.keyboard.press("Escape");
    // The button is in the menu there.
    await app.focused(".page-actions [popovertarget]");
    app.clean("files");
  },
});

Deno.test({
  name: "a preview leads to the files of the directory and shows their images, and nothing else",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([]);
    const at = (path: string) => join(it.workdir, path);
    Deno.mkdirSync(at("docs/img"), { recursive: true });
    const outside = it.place.mkdir("outside");
    Deno.writeFileSync(join(outside, "secret.png"), tinyPng());
    Deno.symlinkSync(outside, at("docs/out"));
    Deno.writeFileSync(at("docs/img/a b.png"), tinyPng());
    Deno.writeTextFileSync(at("docs/img/text.png"), "no image");
    Deno.writeTextFileSync(at("README.md"), "# Back [again](docs/guide.md#top)\n");
    const lines = [
      "[readme](../README.md)",
      "![inside](img/a%20b.png)",
      "![outside](../../outside/secret.png) ![linked](out/secret.png) ![text](img/text.png)",
      "[out](../../outside/secret.png) [root](/etc/passwd) [here](#top) [js](javascript:alert(1))",
      "[web](https://example.invalid/) ![far](https://example.invalid/a.png)",
      "[gone](gone.md)",
      ...Array.from({ length: 30 }, (_, n) => `![many ${n}](img/a%20b.png)`),
    ];
    Deno.writeTextFileSync(at("docs/guide.md"), lines.join("\n\n"));
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await app.openPanel("Files");
    await page.getByRole("searchbox", { name: "Find a file by name" }).fill("guide");
    await page.getByRole("list", { name: "Files found" }).getByRole("button").first().click();
    const drawn = page.getByRole("region", { name: "Preview of docs/guide.md" });
    await drawn.getByRole("img", { name: "inside" }).waitFor();
    await app.holds("document.querySelectorAll('.file-markdown img').length === 16", "the images");
    await drawn.getByText("outside linked text", { exact: true }).waitFor();
    await drawn.getByText("many 29", { exact: true }).waitFor();
    assertEquals(
      await drawn.getByRole("link").allInnerTexts(),
      // More images than are shown are links.
      ["readme", "web", "far", "gone", ...Array.from({ length: 15 }, (_, n) => `many ${n + 15}`)],
    );
    await app.accessible("a preview with links and images");
    // One that leads nowhere now is no longer shown.
    lines[1] = "![inside](img/none.png)";
    Deno.writeTextFileSync(at("docs/guide.md"), lines.join("\n\n"));
    await app.look();
    await drawn.getByText("inside", { exact: true }).waitFor();
    await drawn.getByRole("link", { name: "readme" }).click();
    const readme = page.getByRole("region", { name: "Preview of README.md" });
    await readme.waitFor();
    await app.focused("#file-heading");
    await readme.getByRole("link", { name: "again" }).focus();
    await page.keyboard.press("Enter");
    await drawn.getByRole("link", { name: "gone" }).click();
    await page.getByRole("heading", { name: "docs/gone.md" }).waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    assertEquals(new URL(page.url()).hash, "");
    app.clean("links of a preview");
  },
});
