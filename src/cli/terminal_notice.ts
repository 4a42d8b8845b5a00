/** What a terminal tells beyond its screen: its title, and what happened while nobody looked. */
import { visibleLine } from "../base/visible.ts";

const TITLE_MAX = 80;

/** The sequence that names the window (OSC 2). @param title of the session */
export function titleSequence(title: string, mark: string): string {
  const text = [mark, title === "" ? "svc" : `${title} · svc`].filter(Boolean).join(" ");
  return `\x1b]2;${safe(text)}\x07`;
}

/**
 * What tells a person who looks at another window: a bell, and a notification where the terminal
 * has one (OSC 9 of iTerm2, OSC 777 of urxvt).
 */
export function attentionSequence(text: string, env: (name: string) => string | undefined): string {
  const program = env("TERM_PROGRAM") ?? "";
  const term = env("TERM") ?? "";
  if (["iTerm.app", "WezTerm", "ghostty"].includes(program) || term === "xterm-kitty") {
    return `\x07\x1b]9;${safe(text)}\x07`;
  }
  if (/^(foot|rxvt)/.test(term)) return `\x07\x1b]777;notify;svc;${safe(text)}\x07`;
  return "\x07";
}

function safe(text: string): string {
  // A semicolon ends the field of some.
  return visibleLine(text).replaceAll(";", ",").slice(0, TITLE_MAX).toWellFormed();
}
