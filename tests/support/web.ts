/** The web app in a real Chromium: a page that notes what goes wrong in it, and judges it with axe. */
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import type { Locator, Page } from "playwright-core";
import type { Browser } from "./browser.ts";
import { chromiumPath } from "./browser.ts";
import { until } from "./scripted.ts";
import { can_run_svc, type Daemon } from "./svc.ts";

/** What tests of the web app must be ignored for. */
export const no_browser = !can_run_svc || chromiumPath() === undefined;

/** How long a page may take for what it is asked: slow machines are not wrong. */
const PATIENCE_MS = 60_000;

export const THEMES = ["light", "dark", "contrast"] as const;
export type Theme = typeof THEMES[number];
/** Phone, tablet, desktop: widths in CSS pixels. */
export const WIDTHS = [360, 768, 1440] as const;

/** A file as a page gets it: how, its name, its type, its content in base64, texts by their types. */
export type Given = [
  how: "paste" | "drop",
  name: string,
  media_type: string,
  base64: string,
  texts?: Record<string, string>,
];

/** Gives a box a file as the browser does. */
export async function giveFile(to: Locator, ...given: Given): Promise<void> {
  await to.evaluate((box, [how, name, media_type, base64, texts = {}]) => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const { DataTransfer, ClipboardEvent, DragEvent, File } = globalThis as any;
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.fromBase64(base64)], name, { type: media_type }));
    for (const [type, text] of Object.entries(texts)) data.setData(type, text);
    const init = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
    const Kind = how === "paste" ? ClipboardEvent : DragEvent;
    box.dispatchEvent(new Kind(how, init));
  }, given);
}

/** Builds the app if a source is newer; a compiled binary has its own. */
export async function appBuilt(): Promise<void> {
  if (Deno.env.get("SVC_BIN")) return;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      fromFileUrl(new URL("../../install/web.ts", import.meta.url)),
      "--if-stale",
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** The rules of axe that look at colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/** A page of the app. */
export class AppPage {
  readonly page: Page;
  /** Errors of the console, exceptions, refusals by the policy. */
  readonly problems: string[] = [];
  readonly #daemon: Pick<Daemon, "url">;

  private constructor(page: Page, daemon: Pick<Daemon, "url">) {
    this.page = page;
    this.#daemon = daemon;
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.problems.push(message.text());
    });
    page.on("pageerror", (error) => this.problems.push(String(error.stack)));
  }

  /** Opens the app at a path. */
  static async open(
    browser: Pick<Browser, "context">,
    daemon: Pick<Daemon, "url">,
    path = "/",
  ): Promise<AppPage> {
    await appBuilt();
    const app = new AppPage(await browser.context.newPage(), daemon);
    // A colour on its way to another one is neither.
    await app.page.emulateMedia({ reducedMotion: "reduce" });
    await app.go(path);
    return app;
  }

  /** Loads a path, and waits until the page is connected. */
  async go(path: string): Promise<void> {
    await this.page.goto(`${this.#daemon.url}${path}`);
    await this.connected();
  }

  /** Waits until the page is connected. */
  async connected(): Promise<void> {
    await this.page.getByText("Connected (external)").waitFor({ state: "attached" });
  }

  /** Opens what stands beside a conversation: without room, its button is in the menu. */
  async openPanel(name: "Changes" | "Files" | "Lanes"): Promise<void> {
    const { width } = this.page.viewportSize()!;
    if (width <= 640) await this.page.getByRole("button", { name: "More", exact: true }).click();
    await this.page.getByRole("button", { name, exact: true }).click();
  }

  /** Has the page ask for what may have changed, as when one comes back to it. */
  async look(): Promise<void> {
    await this.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  }

  /** Waits until what a selector finds has the focus. */
  async focused(selector: string): Promise<void> {
    await this.page.locator(`${selector}:focus`).waitFor({ state: "attached" });
  }

  /** Waits until some control has the focus: it is lost where it stays on the page itself. */
  async focusKept(): Promise<void> {
    await this.holds("document.activeElement !== document.body", "some focus");
  }

  /** Waits until an expression holds; waitForFunction asks twice only where a policy allows eval. */
  async holds(expression: string, what: string): Promise<void> {
    await until(async () => await this.page.evaluate(expression) === true, what, PATIENCE_MS);
  }

  /** Chooses a theme as a person's choice is kept. */
  async theme(theme: Theme, scheme: "light" | "dark" = "light"): Promise<void> {
    await this.page.emulateMedia({ colorScheme: scheme });
    await this.page.evaluate((theme) => {
      // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
      const { document, localStorage } = globalThis as any;
      localStorage.setItem("svc.theme", theme);
      document.documentElement.dataset.theme = theme;
    }, theme);
  }

  /** Fails when axe finds anything, of any impact; by all its rules, or only some. */
  async accessible(what: string, rules?: readonly string[]): Promise<void> {
    // Half a megabyte: once for each document.
    if (!await this.page.evaluate("'axe' in globalThis")) {
      const { default: axe } = await import("axe-core");
      await this.page.evaluate(axe.source);
    }
    const found = await this.page.evaluate(async (rules) => {
      // deno-lint-ignore no-explicit-any -- what axe put into the page
      const { violations } = await (globalThis as any).axe.run({
        ...rules === undefined ? {} : { runOnly: { type: "rule", values: rules } },
        resultTypes: ["violations"],
        iframes: false,
        preload: false,
      });
      // deno-lint-ignore no-explicit-any -- axe's result
      return violations.map(({ id, impact, nodes }: any) =>
        // deno-lint-ignore no-explicit-any -- axe's result
        `${impact} ${id}: ${nodes.map((it: any) => `${it.html} ${it.failureSummary}`).join("\n  ")}`
      );
    }, rules);
    assertEquals([what, found], [what, []]);
    // axe sees a second element of an id only where a label names it.
    const ids: string[] = await this.page.evaluate(
      "[...document.querySelectorAll('[id]')].map(({ id }) => id)",
    );
    assertEquals([what, ids.filter((id, n) => ids.indexOf(id) !== n)], [what, []]);
  }

  /**
   * As {@linkcode AppPage.accessible}, in every theme at every width: by all rules in the first, by
   * those of colours in the others, as a theme is colours alone.
   */
  async accessibleEverywhere(what: string): Promise<void> {
    for (const theme of THEMES) {
      await this.theme(theme);
      for (const width of WIDTHS) {
        await this.page.setViewportSize({ width, height: 800 });
        const rules = theme === THEMES[0] ? undefined : COLOUR_RULES;
        await this.accessible(`${what}, ${theme}, ${width} px`, rules);
      }
    }
    await this.page.setViewportSize({ width: 1440, height: 900 });
    await this.theme("light");
  }

  /** Fails when the console or the policy had to say anything. */
  clean(what: string): void {
    assertEquals([what, this.problems], [what, []]);
  }
}
