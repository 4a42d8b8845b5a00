/** A real Firefox for tests, where the machine has one. */
import { firstFile } from "../../src/os/which.ts";
import type { Browser, Page } from "puppeteer-core";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";
import { until } from "./scripted.ts";

const PATHS = [
  "/usr/bin/firefox-esr",
  "/usr/bin/firefox",
  "/Applications/Firefox.app/Contents/MacOS/firefox",
];
const TIMEOUT_MS = 60_000;

/** Where Firefox is (SVC_FIREFOX, or a usual place); undefined without it, or without the permissions. */
export function firefoxPath(): string | undefined {
  if (!granted("read", "write", "run", "net", "env", "sys")) return undefined;
  const chosen = Deno.env.get("SVC_FIREFOX");
  const found = firstFile([...chosen === undefined ? [] : [chosen], ...PATHS]);
  noted(found !== undefined, "Firefox");
  return found;
}

/** A Firefox with one page, and what went wrong in it. */
export class Firefox implements AsyncDisposable {
  readonly page: Page;
  /** Errors of the console, and exceptions. */
  readonly problems: string[] = [];
  readonly #browser: Browser;
  /** Ended, with all that it started and that holds its output. */
  readonly #gone: Promise<void>;

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser;
    this.#gone = new Promise((done) => browser.process()!.once("close", () => done()));
    this.page = page;
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("console", (message) => {
      if (["error", "warn"].includes(message.type())) this.problems.push(message.text());
    });
    page.on("pageerror", (error) => this.problems.push(String(error)));
  }

  /** Starts it. @param size of the page in CSS pixels */
  static async launch(size: { width: number; height: number }): Promise<Firefox> {
    // Loaded here alone, so that a run that ignores these tests needs none of it.
    const { default: puppeteer } = await import("puppeteer-core");
    const browser = await puppeteer.launch({
      browser: "firefox",
      executablePath: firefoxPath()!,
      headless: true,
      timeout: TIMEOUT_MS,
    });
    const page = await browser.newPage();
    await page.setViewport(size);
    return new Firefox(browser, page);
  }

  /** Waits until a text can be seen on the page. */
  async shows(text: string): Promise<void> {
    await this.holds(`document.body.innerText.includes(${JSON.stringify(text)})`, text);
  }

  /** Waits until an expression is true in the page. */
  async holds(expression: string, what: string): Promise<void> {
    await until(async () => await this.page.evaluate(expression) === true, what, TIMEOUT_MS);
  }

  /** Types into the field that is called so. */
  async fill(label: string, text: string): Promise<void> {
    await this.page.locator(`::-p-aria([name="${label}"][role="textbox"])`).fill(text);
  }

  /** Presses the button that is called so. */
  async press(name: string): Promise<void> {
    await this.page.locator(`::-p-aria([name="${name}"][role="button"])`).click();
  }

  /** What axe finds, by all its rules. */
  async violations(): Promise<string[]> {
    const { default: axe } = await import("axe-core");
    await this.page.evaluate(axe.source);
    return await this.page.evaluate(
      "axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => " +
        "violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)))",
    ) as string[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.#gone;
  }
}
