/** A session whose directory was renamed, in the web app. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

Deno.test({
  name: "the page says what to run for a lost directory, and shows the new one",
  ignore: no_browser,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Done." }));
    await it.turn("first");
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    const log = page.getByRole("log");
    const send = async (text: string) => {
      await page.getByLabel("Message", { exact: true }).fill(text);
      await page.keyboard.press("Enter");
    };
    await log.getByText("Done.").waitFor();

    // Beside its old place it is found.
    const renamed = `${it.workdir}-renamed`;
    Deno.renameSync(it.workdir, renamed);
    await send("second");
    await log.getByText(`the session goes on in ${renamed}`).waitFor();
    await log.getByText("Done.").nth(1).waitFor();
    await page.getByTitle(renamed).first().waitFor();

    // Elsewhere it is not.
    const away = join(it.place.mkdir("far/away"), "new-name");
    Deno.renameSync(renamed, away);
    await send("third");
    await page.getByText(`svc ctl sessions move ${it.session_id}`).first().waitFor();
    app.problems.length = 0;
    await it.call("session.move", { workdir: away });
    await log.getByText(`the session now works in ${away}`).waitFor();
    await page.getByTitle(away).first().waitFor();
    assertEquals((await it.call("session.get")).workdir, away);
    app.clean("a renamed directory");
  },
});
