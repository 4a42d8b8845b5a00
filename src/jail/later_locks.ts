/**
 * What is read-only for commands in a working directory because it runs later. Uses the last full
 * search, or a short one if that is old, to limit how long a command waits.
 */
import { relative } from "@std/path";
import { type LaterFile, type LaterFiles, laterFiles, type LaterPlaces } from "./later_scan.ts";
import { type Later, type Leads, ledTo } from "./runs_later.ts";

type Found = Pick<LaterFiles, "files" | "leads">;

interface Known extends Found {
  /** When the next short search is due, on the clock of `performance.now`. */
  due: number;
  /** Made by sessions since this program started. */
  made: Set<string>;
}

/** Entries of a short search. */
const SHORT_MAX = 2_000;
/** A short search takes at most 1/SHARE of the time. */
const SHARE = 20;
const AGE_MS = 1_000;
/** How long a search at the start of a turn is valid. */
const TURN_MS = 60 * 60_000;
/** Working directories that are remembered. */
const DIRECTORIES_MAX = 200;
/** Files that a command mounts; each mount takes time. */
const LOCKS_MAX = 100;
/** Files named in notes. */
const NAMED = 5;

const known = new Map<string, Known>();

/**
 * Records the result of a full search.
 *
 * @param turn whether a turn begins, in which commands may change what they make themselves
 */
export function foundLater(workdir: string, { files, leads }: Found, turn: boolean): void {
  const due = performance.now() + (turn ? TURN_MS : AGE_MS);
  remember(workdir, { files, leads, due, made: madeIn(workdir) });
}

/** Records what sessions made. Their commands may change and remove it; each change is reported. */
export function madeLater(workdir: string, paths: readonly string[]): void {
  const { files = [], leads = new Map(), due = 0 } = known.get(workdir) ?? {};
  remember(workdir, { files, leads, due, made: new Set([...madeIn(workdir), ...paths]) });
}

/** Returns what is read-only for commands, from the top down; it may be gone meanwhile. */
export function lockedIn(
  workdir: string,
  places: LaterPlaces,
): readonly LaterFile[] {
  const { made, files } = nowIn(workdir, places);
  return files.filter(({ path, only }) => only === undefined && !made.has(path))
    .sort((a, b) => depthOf(a) - depthOf(b)).slice(0, LOCKS_MAX);
}

/** Returns what runs later because other files lead to it. */
export function ledIn(workdir: string, places: LaterPlaces): Leads {
  return nowIn(workdir, places).leads;
}

/** Returns what runs a file later because other files lead to it. */
export function ledLater(
  path: string,
  workdir: string,
  places: LaterPlaces,
): Later | undefined {
  return ledTo(path, ledIn(workdir, places));
}

function nowIn(workdir: string, places: LaterPlaces): Known {
  const now = known.get(workdir);
  if (now !== undefined && now.due >= performance.now()) return now;
  return searchShortly(workdir, places, now);
}

function depthOf({ path }: LaterFile): number {
  return path.split("/").length;
}

/**
 * Explains why a command could not write what runs later.
 *
 * @returns notes for the model and the person; none if its output names no such file
 */
export function refusedLater(
  output: string,
  workdir: string,
  places: LaterPlaces,
): string[] {
  if (!/read-only file system|device or resource busy/i.test(output)) return [];
  const named = lockedIn(workdir, places)
    .map((file) => ({ ...file, place: relative(workdir, file.path) }))
    .filter(({ place }) => output.includes(place));
  return named.slice(0, NAMED).map(({ place, kind, runner }) =>
    kind === "repository" || kind === "module"
      ? `[commands cannot write the hooks and settings in ${place}: git runs them]`
      : `[commands cannot write ${place}: ${runner}; the file tools ask the person]`
  );
}

function searchShortly(
  workdir: string,
  places: LaterPlaces,
  before: Known | undefined,
): Known {
  const began = performance.now();
  const steps = laterFiles(workdir, { ...places, max_entries: SHORT_MAX, states: false });
  let step = steps.next();
  while (!step.done) step = steps.next();
  const { files: found, leads } = step.value;
  const paths = new Set(found.map(({ path }) => path));
  // A full search went further.
  const deeper = step.value.cut ? before?.files.filter(({ path }) => !paths.has(path)) ?? [] : [];
  const took = performance.now() - began;
  return remember(workdir, {
    files: [...found, ...deeper],
    leads: step.value.cut ? new Map([...before?.leads ?? [], ...leads]) : leads,
    due: performance.now() + Math.max(AGE_MS, took * SHARE),
    made: madeIn(workdir),
  });
}

function madeIn(workdir: string): Set<string> {
  return known.get(workdir)?.made ?? new Set();
}

function remember(workdir: string, now: Known): Known {
  known.delete(workdir);
  known.set(workdir, now);
  if (known.size > DIRECTORIES_MAX) known.delete(known.keys().next().value!);
  return now;
}
