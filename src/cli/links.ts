/** Which terminals follow links (OSC 8). Others could show the sequence as text. */

/** Terminals by the name that they give themselves. */
const PROGRAMS = new Set(["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "mintty"]);
const TERMS = /^(?:xterm-kitty|xterm-ghostty|alacritty|foot|wezterm|contour)(?:-|$)/;
/** Variables that only such a terminal sets. */
const OWN = ["WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "KITTY_WINDOW_ID"];
/** GNOME's and others, since 0.50. */
const VTE = 5_000;
/** tmux since 3.4 takes links and gives them only to terminals that have them. */
const TMUX = 3.4;

/** Reports whether the terminal is known to follow links, by its variables. */
export function followsLinks(env: (name: string) => string | undefined): boolean {
  const term = env("TERM") ?? "dumb";
  const program = env("TERM_PROGRAM") ?? "";
  if (term === "dumb" || term === "linux") return false;
  // What runs inside of another terminal has variables of both.
  if (program === "tmux") return parseFloat(env("TERM_PROGRAM_VERSION") ?? "0") >= TMUX;
  if (/^(?:screen|tmux)/.test(term) || env("TMUX") !== undefined || env("STY") !== undefined) {
    return false;
  }
  return TERMS.test(term) || PROGRAMS.has(program) || OWN.some((name) => env(name) !== undefined) ||
    Number(env("VTE_VERSION") ?? 0) >= VTE;
}
