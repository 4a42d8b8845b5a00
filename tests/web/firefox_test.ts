/** The main flows of the web app in Firefox, with the mouse and with the keyboard, wide and narrow. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Firefox, firefoxPath } from "../support/firefox.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { appBuilt } from "../support/web.ts";

const ignore = !can_run_svc || firefoxPath() === undefined;

const SIZES = { "a desktop": { width: 1440, height: 900 }, "a phone": { width: 390, height: 844 } };

for (const [where, size] of Object.entries(SIZES)) {
  Deno.test({
    name: `Firefox on ${where}: a message, a question, its answer, a restart`,
    ignore,
    async fn() {
      await appBuilt();
      await using it = await Scenario.begin([
        {
          text: "I write it.",
          calls: [{ name: "write_file", args: { path: "a.txt", text: "a" } }],
        },
        { text: "Done: **it is there**.\n\n```js\nlet a = 1;\n```" },
        { text: "after the restart" },
      ], { start: { approval: "ask", title: "In Firefox" } });
      await using firefox = await Firefox.launch(size);
      const { page } = firefox;

      await page.goto(`${it.daemon.url}/`);
      await firefox.shows("In Firefox");
      assertEquals(await firefox.violations(), []);
      await page.goto(`${it.daemon.url}/sessions/${it.session_id}`);
      // The box is as high as its text, to a part of the page.
      const height = "document.getElementById('message').offsetHeight";
      await firefox.fill("Message", "word ".repeat(200));
      await firefox.holds(`${height} > 150 && ${height} < innerHeight / 2`, "a high box");
      await firefox.fill("Message", "write a.txt");
      await firefox.holds(`${height} < 100`, "a low box");
      await page.keyboard.press("Enter");
      await firefox.shows("a.txt");
      await firefox.holds("document.querySelector('.approval') !== null", "the question");
      assertEquals(await firefox.violations(), []);
      await page.evaluate("document.activeElement.blur()");
      // A question that has just come takes no key yet.
      await firefox.holds(
        "document.querySelector('.approval [aria-keyshortcuts=y]').matches(" +
          "':not(:disabled):not([aria-disabled=true])')",
        "what the key presses",
      );
      await page.keyboard.press("y");
      await firefox.shows("it is there");
      assertEquals(Deno.readTextFileSync(join(it.workdir, "a.txt")), "a");
      await firefox.holds(
        "document.querySelector('.code [class^=hl-]') !== null",
        "the colours of code",
      );

      await it.daemon.kill();
      await firefox.holds("!document.body.innerText.includes('Connected')", "the loss");
      it.daemon = await it.place.serve();
      await firefox.fill("Message", "go on");
      await page.keyboard.press("Enter");
      await firefox.shows("after the restart");
      assertEquals(
        await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
        true,
        "nothing is wider than the page",
      );
      const problems = firefox.problems.filter((text) => !/WebSocket|can.t establish/.test(text));
      assertEquals(problems, []);
    },
  });
}
