/** A real Chromium for tests, where the machine has one. */
import type {
  Browser as PlaywrightBrowser,
  BrowserContext,
  ConnectOverCDPTransport,
  Page,
} from "playwright-core";
import { firstFile } from "../../src/os/which.ts";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";

const PATHS = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
/** Chromium's engine without its windows: it starts in half the time. */
const HEADLESS_SHELL = "/usr/bin/chromium-headless-shell";
/** What it is started with, beside what Playwright does. */
export const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const TIMEOUT_MS = 60_000;

/** Where Chromium is (SVC_CHROMIUM, or a usual place); undefined without it, or without the permissions. */
export function chromiumPath(): string | undefined {
  if (!granted("read", "write", "run", "net", "env", "sys")) return undefined;
  const found = firstFile([...chosenPath(), ...PATHS]);
  noted(found !== undefined, "chromium");
  return found;
}

function chosenPath(): string[] {
  const path = Deno.env.get("SVC_CHROMIUM");
  return path === undefined ? [] : [path];
}

/** The program that tests start: the shell, where it is there. */
export function browserProgram(): string {
  return firstFile([...chosenPath(), HEADLESS_SHELL]) ?? chromiumPath()!;
}

/** A browser for one test, of its own or shared by {@linkcode connect}; let go of at the end. */
export class Browser implements AsyncDisposable {
  readonly #browser: PlaywrightBrowser;
  readonly context: BrowserContext;

  private constructor(browser: PlaywrightBrowser, context: BrowserContext) {
    this.#browser = browser;
    this.context = context;
  }

  /** Starts it, with more of Chromium's switches where they are needed. */
  static async launch(...args: string[]): Promise<Browser> {
    // Loaded here alone, so that a run that ignores these tests needs none of it.
    const { chromium } = await import("playwright-core");
    const browser = await chromium.launch({
      executablePath: browserProgram(),
      args: [...ARGS, ...args],
      timeout: TIMEOUT_MS,
    });
    return new Browser(browser, await browser.newContext());
  }

  /**
   * A new profile in a browser that runs; at the end that profile goes, and the browser stays.
   *
   * @param dir where it may leave files: a directory of its own would be removed after the test's end
   */
  static async connect(transport: ConnectOverCDPTransport, dir: string): Promise<Browser> {
    const { chromium } = await import("playwright-core");
    const browser = await chromium.connectOverCDP(transport, {
      timeout: TIMEOUT_MS,
      artifactsDir: dir,
    });
    return new Browser(browser, await browser.newContext());
  }

  /** Opens a page. */
  async page(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url, { timeout: TIMEOUT_MS });
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    await this.#browser.close();
  }
}
