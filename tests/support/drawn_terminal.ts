/** Pictures of a terminal: what a program wrote to one, drawn by xterm.js in a page. */
import script from "@xterm/xterm/lib/xterm.js" with { type: "text" };
import styles from "@xterm/xterm/css/xterm.css" with { type: "text" };
import type { Page } from "playwright-core";
import type { Browser } from "./browser.ts";

/** The page's globals, of which Deno has no types. */
interface PageGlobals {
  document: { getElementById(id: string): unknown };
  Terminal: new (options: Record<string, unknown>) => Emulator;
  terminal: Emulator;
}

interface Emulator {
  rows: number;
  open(parent: unknown): void;
  reset(): void;
  write(text: string, done: () => void): void;
  buffer: { active: { getLine(y: number): { translateToString(trim: boolean): string } } };
}

const PAGE = `<!doctype html><style>${styles}
body { margin: 0; background: #000 }
#terminal { display: inline-block; padding: 8px }
</style><div id="terminal"></div>`;

/** A terminal emulator in a page of its own. */
export class DrawnTerminal implements AsyncDisposable {
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  static async open(
    browser: Pick<Browser, "context">,
    size: { cols: number; rows: number },
    theme: Record<string, string> = {},
  ): Promise<DrawnTerminal> {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.setContent(PAGE);
    await page.addScriptTag({ content: script });
    await page.evaluate(({ cols, rows, theme }) => {
      const globals = globalThis as unknown as PageGlobals;
      globals.terminal = new globals.Terminal({
        cols,
        rows,
        theme,
        fontFamily: "monospace",
        fontSize: 14,
        // Lower rows cut off the underscore.
        lineHeight: 1.2,
        scrollback: 0,
        // The page does not have the focus that a person's terminal has.
        cursorInactiveStyle: "block",
      });
      globals.terminal.open(globals.document.getElementById("terminal"));
    }, { ...size, theme });
    return new DrawnTerminal(page);
  }

  /** Draws all that programs wrote since the terminal was opened. @returns the text on the screen. */
  async draw(written: string): Promise<string> {
    return await this.#page.evaluate(async (written) => {
      const { terminal } = globalThis as unknown as PageGlobals;
      terminal.reset();
      await new Promise<void>((done) => terminal.write(written, done));
      const line = (y: number) => terminal.buffer.active.getLine(y).translateToString(true);
      return Array.from({ length: terminal.rows }, (_, y) => line(y)).join("\n");
    }, written);
  }

  /** Saves what was drawn last as a PNG file. */
  async save(path: string): Promise<void> {
    await this.#page.locator("#terminal").screenshot({ path });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#page.close();
  }
}
