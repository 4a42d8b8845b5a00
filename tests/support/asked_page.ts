/** A page on which a call of a model waits for its answer. */
import { join } from "@std/path";
import type { Page } from "playwright-core";
import type { Browser } from "./browser.ts";
import type { Answer } from "./model_servers.ts";
import { Scenario, until } from "./scripted.ts";
import type { SharedBrowser } from "./shared_browser.ts";
import { AppPage } from "./web.ts";

/** A session whose model asks for these calls; its page, whose time stands still once they wait. */
export class AskedPage implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(readonly it: Scenario, readonly app: AppPage, browser: Browser) {
    this.#browser = browser;
  }

  /** @param stopped whether time stands still already when the question comes */
  static async begin(
    shared: SharedBrowser,
    calls: Answer["calls"],
    files: Record<string, string> = {},
    stopped = false,
  ): Promise<AskedPage> {
    const it = await Scenario.begin([{ calls }, { text: "The end." }], {
      start: { approval: "ask" },
    });
    for (const [path, text] of Object.entries(files)) {
      Deno.writeTextFileSync(join(it.workdir, path), text);
    }
    const browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon);
    await app.page.clock.install();
    await app.go(`/sessions/${it.session_id}`);
    const asked = new AskedPage(it, app, browser);
    if (stopped) await asked.#pause();
    await it.send("go");
    if (stopped) await asked.comes();
    else await app.page.locator(".approval").first().waitFor();
    return asked;
  }

  get page(): Page {
    return this.app.page;
  }

  button(name: "Allow" | "Deny") {
    return this.page.locator(".approval").first().getByRole("button", { name, exact: true });
  }

  /** Stops the page's time, once it shows what an answer waits for. */
  async stopTime(hint: string): Promise<void> {
    await this.page.getByText(hint).first().waitFor();
    await this.#pause();
  }

  /** Waits for the question while time stands still but for the moments in which the page paints. */
  async comes(): Promise<void> {
    const hint = this.page.getByText("Always allow:").first();
    await until(async () => {
      await this.page.clock.runFor(20);
      return await hint.isVisible();
    }, "the question comes");
  }

  async #pause(): Promise<void> {
    // Time goes on until the page is told at which moment to stop, on a busy machine past that moment.
    for (let ahead_ms = 10;; ahead_ms *= 2) {
      const now = await this.page.evaluate("Date.now()") as number;
      try {
        return await this.page.clock.pauseAt(now + ahead_ms);
      } catch (error) {
        if (ahead_ms > 200 || !String(error).includes("fast-forward to the past")) throw error;
      }
    }
  }

  /** Lets time pass. @returns whether the question can be allowed then. */
  async after(ms: number): Promise<boolean> {
    await this.page.clock.runFor(ms);
    return await this.button("Allow").getAttribute("aria-disabled") === null;
  }

  /** Scrolls through the question, as a wheel does. */
  async toEnd(): Promise<void> {
    await this.page.locator(".approval-text").first().hover();
    // What is drawn while it scrolls makes the way longer.
    await until(async () => {
      await this.page.mouse.wheel(0, 100_000);
      return await this.page.getByText("Always allow:").first().isVisible();
    }, "the end of the question");
  }

  decisions(): string[] {
    return this.it.client.of("approval.resolved").map(({ data }) => String(data.decision));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser[Symbol.asyncDispose]();
    await this.it[Symbol.asyncDispose]();
  }
}
