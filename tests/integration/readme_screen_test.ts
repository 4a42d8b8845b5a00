/** The screen in README is what `svc chat` prints in a terminal. */
import { assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { blocksOf } from "../../install/snippets.ts";
import { shellQuote } from "../../src/base/shell_quote.ts";
import { can_run_svc, Place, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const README = fromFileUrl(new URL("../../README.md", import.meta.url));

/** Wider than README's, for a longer path in the last line. */
const COLS = 160;

/**
 * The lines from the first message on, without what differs: the directory, which the question and
 * the last line name, how long the turn waits, and how wide the screen is.
 */
function conversation(screen: string): string[] {
  const lines = screen.trimEnd().split("\n").map((line) =>
    line.trimEnd().replace(/^── • \d+ s (.*?) ─+$/, "$1").replace(/^ {2}in \/.*/, "  in /tmp/hello")
  );
  const status = lines.pop()!.replace(/( · approval ask) · .*$/, "$1");
  return [...lines.slice(lines.findIndex((line) => line.startsWith("› "))), status];
}

Deno.test({
  name: "README: the screen of a command that waits for approval is what chat prints",
  ignore: !can_run_svc || !has_tmux,
  async fn() {
    const shown = blocksOf(Deno.readTextFileSync(README)).find(({ language, text }) =>
      language === "text" && text.startsWith("› ")
    )!.text;
    const [, ...turns] = shown.split(/^› (?=.)/m).map((turn) =>
      turn.trimEnd()
    );
    await using place = new Place();
    const project = place.mkdir("hello");
    Deno.mkdirSync(join(project, "src"));
    const source = "export function greet(name: string) {\n  return `Helo, ${name}!`;\n}\n";
    Deno.writeTextFileSync(join(project, "src", "greet.ts"), source);
    await using terminal = await TmuxTerminal.open(place, { cols: COLS });
    await terminal.line(svcLine("chat", shellQuote(project)));
    await terminal.shows("● ready");
    for (const turn of turns) {
      await terminal.line(turn.split("\n", 1)[0]);
      // What it prints has come before the next message is typed.
      if (turn !== turns.at(-1)) await terminal.shows(turn);
    }
    assertEquals(conversation(await terminal.shows("y allow")), conversation(shown));
  },
});
