import { assertEquals } from "@std/assert";
import { followsLinks } from "./links.ts";

Deno.test("links are written only where the terminal is known to follow them", () => {
  const told: [Record<string, string>, boolean][] = [
    [{ TERM: "xterm-256color", VTE_VERSION: "7200" }, true],
    [{ TERM: "xterm-256color", VTE_VERSION: "4200" }, false],
    [{ TERM: "xterm-256color", TERM_PROGRAM: "WezTerm" }, true],
    [{ TERM: "xterm-kitty" }, true],
    [{ TERM: "alacritty" }, true],
    [{ TERM: "xterm-256color", WT_SESSION: "x" }, true],
    [{ TERM: "tmux-256color", TERM_PROGRAM: "tmux", TERM_PROGRAM_VERSION: "3.4" }, true],
    [{ TERM: "tmux-256color", TERM_PROGRAM: "tmux", TERM_PROGRAM_VERSION: "3.3a" }, false],
    [{ TERM: "screen", TMUX: "/tmp/t", VTE_VERSION: "7200" }, false],
    [{ TERM: "screen.xterm-256color", STY: "1", VTE_VERSION: "7200" }, false],
    [{ TERM: "xterm" }, false],
    [{ TERM: "xterm-256color" }, false],
    [{ TERM: "linux", VTE_VERSION: "7200" }, false],
    [{ TERM: "dumb", TERM_PROGRAM: "vscode" }, false],
    [{}, false],
  ];
  for (const [vars, expected] of told) {
    assertEquals(followsLinks((name) => vars[name]), expected, JSON.stringify(vars));
  }
});
