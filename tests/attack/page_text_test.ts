/** A model writes for the web app: to hide what it writes, and to have allowed what nobody read. */
import { delay } from "@std/async";
import type { Page } from "playwright-core";
import type { Answer } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage } from "../support/web.ts";
import { HOSTILE, HOSTILE_NAME, plantedIn } from "./hostile_text.ts";
import { attacksBy, type Loot } from "./kit.ts";

const shared = new SharedBrowser();

const byModel = attacksBy("a model");

/** Everything on a page that people see or are read. */
async function shownOn(page: Page): Promise<string> {
  return await page.evaluate(() => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const { document } = globalThis as any;
    const spoken = ["title", "aria-label", "alt", "placeholder"];
    const attributes = [...document.querySelectorAll("*")].flatMap((element) =>
      spoken.map((name) => element.getAttribute(name) ?? "")
    );
    return [document.title, document.body.textContent, ...attributes].join("\n");
  });
}

/** The probe sees what a page shows that writes nothing out. */
async function careless(): Promise<Loot> {
  await using browser = await shared.profile();
  const page = await browser.context.newPage();
  await page.goto("about:blank");
  await page.evaluate((text) => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    (globalThis as any).document.body.textContent = text;
  }, HOSTILE);
  return plantedIn(await shownOn(page));
}

byModel("hides what it writes in the conversation, in names and in calls", {
  needs: ["browser"],
  control: careless,
  async attempt() {
    const entities = "&#x202e;&#x200b;&shy;&#x2066; [text&#x202e;](https://example.org/)";
    await using it = await Scenario.begin([
      {
        text: [
          HOSTILE,
          `\n\n\`\`\`js\n${HOSTILE}\n\`\`\`\n\n${entities}\n\n| ${HOSTILE} |\n|--|\n`,
        ],
        calls: [
          { name: "run_command", args: { command: `true ${HOSTILE}; exit 1` } },
          { name: `tool ${HOSTILE}`, args: { path: HOSTILE } },
          { name: "write_file", args: { path: "a.ts", content: HOSTILE } },
        ],
      },
      { text: "the end" },
    ]);
    const workdir = it.place.mkdir(`project ${HOSTILE_NAME}`);
    const session_id = await it.client.session({
      workdir,
      model: it.model,
      approval: "auto",
      title: HOSTILE.slice(0, 190),
    });
    await it.client.turn(session_id, HOSTILE);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${session_id}`);
    await app.page.getByText("the end").waitFor();
    for (const head of await app.page.locator(".tool-head[aria-expanded=false]").all()) {
      await head.click();
    }
    // Coloured code is drawn later.
    await delay(500);
    const session = plantedIn(await shownOn(app.page));
    await app.go("/");
    await app.page.getByRole("row").nth(1).waitFor();
    return session ?? plantedIn(await shownOn(app.page));
  },
});

interface Asked {
  it: Scenario;
  page: Page;
  /** How often something was allowed. */
  allowed(): number;
}

/** Opens the page of a session whose model wants something, and asks. */
async function asked(
  calls: Answer["calls"],
  attack: (asked: Asked) => Promise<Loot>,
): Promise<Loot> {
  await using it = await Scenario.begin([{ calls }, { text: "the end" }], {
    start: { approval: "ask" },
  });
  await using browser = await shared.profile();
  const { page } = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
  await it.send("go");
  await page.getByRole("button", { name: "Allow", exact: true }).waitFor();
  const allowed = () =>
    it.client.of("approval.resolved").filter(({ data }) => data.decision === "allow").length;
  return await attack({ it, page, allowed });
}

const TWO = [
  { id: "c1", name: "run_command", args: { command: "echo harmless" } },
  { id: "c2", name: "run_command", args: { command: "echo evil" } },
];
const allow = (page: Page) => page.getByRole("button", { name: "Allow", exact: true });

/** Presses the pointer where it is, as fast as a person who clicks twice. */
async function clickTwice(page: Page): Promise<void> {
  await allow(page).click({ trial: true });
  const box = (await allow(page).boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let n = 0; n < 6; n++) {
    await page.mouse.down();
    await page.mouse.up();
    await delay(60);
  }
}

byModel("has the next question allowed by the second click on the one before", {
  needs: ["browser"],
  control: () =>
    asked(TWO, async ({ it, page, allowed }) => {
      await allow(page).click();
      await it.event("approval.resolved");
      await page.getByText("echo evil").first().waitFor();
      await allow(page).click();
      await it.event("turn.completed");
      return allowed() === 2 ? "both" : undefined;
    }),
  attempt: () =>
    asked(TWO, async ({ it, page, allowed }) => {
      await clickTwice(page);
      await it.event("approval.requested", ({ data }) => data.call_id === "c2");
      await delay(1_000);
      return allowed() > 1 ? "the next question was allowed" : undefined;
    }),
});

const LONG = [{
  id: "c1",
  name: "write_file",
  args: { path: "a.txt", content: "harmless\n".repeat(3_000) + "evil\n" },
}];

byModel("has the end of a long change allowed that was not shown", {
  needs: ["browser"],
  control: () =>
    asked(LONG, async ({ it, page, allowed }) => {
      await page.getByRole("button", { name: /^Show \d+ more lines$/ }).click();
      await page.getByText("evil", { exact: true }).scrollIntoViewIfNeeded();
      await allow(page).click();
      await it.event("turn.completed");
      return allowed() === 1 ? "allowed once it was read" : undefined;
    }),
  attempt: () =>
    asked(LONG, async ({ page, allowed }) => {
      await delay(1_000);
      await allow(page).evaluate((button) => (button as unknown as { click(): void }).click());
      await allow(page).scrollIntoViewIfNeeded();
      await allow(page).click({ force: true });
      await page.keyboard.press("Enter");
      await delay(1_000);
      return allowed() > 0 ? "allowed unread" : undefined;
    }),
});
