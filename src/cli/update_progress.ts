import type { Progress } from "../features/update/update.ts";

const MB = 1_000_000;
const BAR_CELLS = 24;
const DRAW_EVERY_MS = 100;

export interface Screen {
  terminal: boolean;
  write(text: string): void;
}

/** Shows the progress of an installation: a bar on a terminal, elsewhere a line for each step. */
export function progressOf(version: string, screen: Screen): (progress: Progress) => void {
  let begun = false;
  let drawn_at = -Infinity;
  return (progress) => {
    if (progress.step !== "downloading") {
      screen.write(`${stepLine(progress.step)}\n`);
      return;
    }
    const { done, total } = progress;
    if (!screen.terminal) {
      if (!begun) screen.write(`downloading svc ${version} (${megabytes(total)} MB)\n`);
      begun = true;
      return;
    }
    const ended = done === total;
    if (!ended && performance.now() - drawn_at < DRAW_EVERY_MS) return;
    drawn_at = performance.now();
    screen.write(`\r${bar(done, total)}  svc ${version}${ended ? "\n" : ""}`);
  };
}

function stepLine(step: Exclude<Progress["step"], "downloading">): string {
  switch (step) {
    case "verified":
      return "signature and SHA-256 are valid";
    case "unpacked":
      return "unpacked";
    case "tried":
      return "the new binary runs";
    case "replaced":
      return "replaced";
  }
}

function bar(done: number, total: number): string {
  const cells = Math.floor((done / total) * BAR_CELLS);
  const percent = String(Math.floor((done / total) * 100)).padStart(3);
  const filled = "#".repeat(cells).padEnd(BAR_CELLS, ".");
  return `[${filled}] ${percent} %  ${megabytes(done)} of ${megabytes(total)} MB`;
}

function megabytes(bytes: number): string {
  return (bytes / MB).toFixed(1);
}
