/** Images in the web app: pasted or dropped into a message, and shown in the transcript. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Browser } from "../support/browser.ts";
import { tinyPdf, tinyPng } from "../support/media.ts";
import { Scenario, until } from "../support/scripted.ts";
import { AppPage, giveFile, type Given, no_browser } from "../support/web.ts";

Deno.test({
  name: "images are pasted, dropped, removed, sent and shown; what is no image is refused",
  ignore: no_browser,
  async fn() {
    const call = { id: "c1", name: "read_file", args: { path: "read.png" } };
    const steps = [{ calls: [call] }, { text: "Both are red." }];
    await using it = await Scenario.begin(steps, { toml: "images = true\n" });
    Deno.writeFileSync(join(it.workdir, "read.png"), tinyPng());
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const message = page.getByLabel("Message", { exact: true });
    const give = (...given: Given) => giveFile(message, ...given);
    const png = tinyPng({ width: 2 }).toBase64();
    await message.waitFor();
    await give("paste", "pasted.png", "image/png", png);
    await give("drop", "paper.pdf", "application/pdf", tinyPdf().toBase64());
    await give("paste", "second.png", "image/png", png);
    const list = page.getByRole("list", { name: "Attached files" });
    await list.getByText("second.png").waitFor();
    assertEquals(await list.locator("img").count(), 2);
    // Text of an office program, which comes with a picture of it; the picture of a page, with HTML.
    const cells = { "text/plain": "a\tb", "text/html": "<td>a</td><td>b</td>" };
    await give("paste", "cells.png", "image/png", png, cells);
    await give("paste", "copied.png", "image/png", png, { "text/html": "<img>" });
    await list.getByText("copied.png").waitFor();
    assertEquals(await list.getByText("cells.png").count(), 0);
    await page.getByRole("button", { name: "Remove copied.png" }).click();
    await give("drop", "image.svg", "image/svg+xml", btoa("<svg/>"));
    await page.getByText("image.svg: only PNG, JPEG, GIF and WebP images").waitFor();
    await app.accessible("attached files");
    await page.getByRole("button", { name: "Remove second.png" }).click();
    await list.getByText("second.png").waitFor({ state: "detached" });

    // They are for a message: a command leaves them.
    await message.fill("/theme dark");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("status").getByText("chosen in the settings").waitFor();
    assertEquals(await list.locator("li").count(), 2);
    await page.getByRole("button", { name: "Send" }).click();
    const log = page.getByRole("log");
    await log.getByText("Both are red.").waitFor();
    await list.waitFor({ state: "detached" });
    const { body } = it.server.requests.at(-1)!;
    assertStringIncludes(JSON.stringify(body.messages), `data:image/png;base64,${png}`);
    for (const line of ["[image: pasted.png, 69 bytes]", "[image: read.png, 69 bytes]"]) {
      const picture = log.getByRole("img", { name: line });
      await picture.waitFor();
      assertStringIncludes((await picture.getAttribute("src"))!, "data:image/png;base64,");
    }
    await log.getByText("[PDF: paper.pdf, 189 bytes]").waitFor();
    await app.accessible("pictures");
    app.clean("with images");
  },
});

Deno.test({
  name:
    "files beside the message box outlive a reload and a restart, in all tabs, until they are sent",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin([{ text: "Seen." }]);
    await using browser = await Browser.launch();
    const path = `/sessions/${it.session_id}`;
    const app = await AppPage.open(browser, it.daemon, path);
    const { page } = app;
    const attached = ({ page }: AppPage) =>
      page.getByRole("list", { name: "Attached files" }).locator("li");
    const names = async (app: AppPage) => await attached(app).allInnerTexts();
    const message = page.getByLabel("Message", { exact: true });
    await message.waitFor();
    const png = tinyPng({ width: 2 }).toBase64();
    await giveFile(message, "paste", "one.png", "image/png", png);
    await attached(app).nth(0).waitFor();
    await giveFile(message, "paste", "two.pdf", "application/pdf", tinyPdf().toBase64());
    await attached(app).nth(1).waitFor();
    await page.reload();
    await attached(app).nth(1).waitFor();
    assertEquals(await names(app), ["one.png", "two.pdf"]);
    // The address stays the same.
    await page.goto("about:blank");
    await it.restart();
    await app.go(path);
    await attached(app).nth(1).waitFor();
    const other = await AppPage.open(browser, it.daemon, path);
    await attached(other).nth(1).waitFor();
    await other.page.getByRole("button", { name: "Remove two.pdf" }).click();
    await until(async () => `${await names(app)}` === "one.png", "a file that is gone");
    await giveFile(message, "paste", "three.png", "image/png", png);
    await until(async () => `${await names(other)}` === "one.png,three.png", "one more");
    await other.page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("log").getByText("Seen.").waitFor();
    await attached(app).first().waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("log").getByText("Seen.").waitFor();
    await message.waitFor();
    assertEquals(await names(app), []);
    const kept = "caches.open('svc-files').then((it) => it.keys()).then((it) => it.length)";
    await until(async () => await page.evaluate(kept) === 0, "no file is kept");
    assertEquals(it.server.requests.length, 1);
    app.clean("files after a reload");
    other.clean("files in another tab");
  },
});
