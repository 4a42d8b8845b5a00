/** The terminal UI in its themes: a conversation, a difference in a question, panels, and the help. */
import { delay } from "@std/async";
import type { Browser } from "../support/browser.ts";
import { DrawnTerminal } from "../support/drawn_terminal.ts";
import type { Scenario } from "../support/scripted.ts";
import type { Album } from "./screenshots_album.ts";
import { beginScene, PANELS, SCENES } from "./screenshots_scenes.ts";
import { Shown, type Size } from "./screenshots_terminal.ts";

/** Themes, and the terminals that they are for. */
const THEMES = {
  dark: { background: "#1e1e1e", foreground: "#e6e6e6" },
  light: { background: "#ffffff", foreground: "#1a1a1a" },
  terminal: { background: "#000000", foreground: "#d0d0d0" },
};

export interface ThemedOptions {
  album: Album;
  browser: Browser;
  sizes: readonly Size[];
  /** Has the program `svc`. */
  bin: string;
}

/** Takes the views in each theme and size. */
export async function takeThemes(it: Scenario, options: ThemedOptions): Promise<void> {
  const { album, browser, sizes, bin } = options;
  // What moves would differ in each picture.
  const changes = { "terminal.reduced_motion": true };
  await it.client.rpc.call("daemon.set_config", { changes });
  for (const [theme, colours] of Object.entries(THEMES)) {
    for (const size of sizes) {
      await using drawn = await DrawnTerminal.open(browser, size, colours);
      const open = async (name: "conversation" | "question-edit" | "panels") => {
        const { workdir, session_id } = await beginScene(it, name, `${theme}-${name}-${size.cols}`);
        const shown = await Shown.open(it, { album, drawn, size, bin, dir: workdir });
        await shown.terminal.line("export COLORTERM=truecolor; svc chat -c");
        await shown.terminal.shows("● ready");
        await shown.terminal.line(`/theme ${theme}`);
        await shown.terminal.shows(`theme: ${theme}`);
        return { shown, session_id };
      };
      const take = (shown: Shown, view: string) => shown.take(`theme-${theme}-${view}`);
      {
        const { shown, session_id } = await open("conversation");
        await using _ = shown;
        await shown.terminal.line(SCENES.conversation.says);
        await shown.terminal.shows(/11[^]*● ready/);
        await take(shown, "conversation");
        await shown.terminal.type("?");
        await shown.terminal.shows("── help");
        await take(shown, "help");
        await it.call("session.kill", { session_id });
      }
      {
        const { shown, session_id } = await open("question-edit");
        await using _ = shown;
        await shown.terminal.line(SCENES["question-edit"].says);
        await shown.terminal.shows(/ y allow|all of it first/);
        await delay(500);
        await take(shown, "question");
        await it.call("session.kill", { session_id });
      }
      {
        const { shown, session_id } = await open("panels");
        await using _ = shown;
        await shown.terminal.line(PANELS.says);
        await shown.terminal.shows("test 3 ok");
        await take(shown, "panels");
        await shown.terminal.press("C-t");
        await shown.terminal.shows("plan 2 of 3");
        await take(shown, "panels-folded");
        await it.call("session.kill", { session_id });
      }
    }
  }
}
