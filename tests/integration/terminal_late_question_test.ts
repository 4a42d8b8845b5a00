/** A question that comes while a list, a search or a page has the keys. */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;

/** What opens something, what then is on the screen, and keys that are meant for that. */
const OPENED: Readonly<
  Record<string, { opens: string; shows: RegExp; keys: string[]; closes?: string }>
> = {
  "a list": { opens: "/sessions\r", shows: /Sessions ·/, keys: ["y", "1", "a", "Down", "Up"] },
  "the palette": { opens: "\x10", shows: /What to do ·/, keys: ["1", "y", "BSpace", "Down"] },
  "a search": { opens: "\x12", shows: /search:/, keys: ["y", "1", "Down", "C-r", "BSpace"] },
  "the help": { opens: "?", shows: /── help/, keys: ["Down", "PPage", "End"], closes: "x" },
  "the page of changed files": {
    opens: "/changes\r",
    shows: /Changed files/,
    keys: ["a", "BSpace", "Enter", "PPage", "NPage"],
  },
};

for (const [what, { opens, shows, keys, closes = "Escape" }] of Object.entries(OPENED)) {
  Deno.test({
    name: `a question that comes while ${what} is open is not answered by its keys`,
    ignore,
    async fn() {
      const { promise: go_on, resolve } = Promise.withResolvers<void>();
      const edit = { path: "a.txt", content: "two\n" };
      await using it = await Scenario.begin([
        { calls: [{ name: "write_file", args: edit }] },
        { text: "written" },
        {
          text: ["x"],
          hang_after: 1,
          go_on,
          calls: [{ name: "run_command", args: { command: "touch asked" } }],
        },
        { text: "done" },
      ], { start: { approval: "workspace" } });
      await it.turn("write");
      await it.call("session.configure", { approval: "ask" });
      await using terminal = await TmuxTerminal.open(it.place, { cols: 100, rows: 30 });
      await terminal.line(svcLine("chat", "--session", it.session_id));
      await terminal.shows("● ready");
      await terminal.line("go");
      await terminal.shows("● working");
      await terminal.type(opens);
      await terminal.shows(shows);
      resolve();
      await it.event("approval.requested", ({ data }) => data.tool === "run_command");
      // Longer than a question on the screen needs to be answered by keys.
      await delay(1_000);
      for (const key of keys) {
        await terminal.press(key);
        await delay(150);
      }
      const { pending_approvals } = await it.call("session.get");
      assertEquals(pending_approvals.length, 1);
      assert(!(await Deno.stat(join(it.workdir, "asked")).then(() => true, () => false)));
      // It is there, and its own keys answer it.
      await terminal.press(closes);
      await terminal.shows(/\? allow run_command\?|1 y allow/);
    },
  });
}
