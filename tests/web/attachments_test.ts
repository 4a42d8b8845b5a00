/** Images in the web app: pasted or dropped into a message, and shown in the transcript. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Browser } from "../support/browser.ts";
import { tinyPdf, tinyPng } from "../support/media.ts";
import { Scenario } from "../support/scripted.ts";
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
