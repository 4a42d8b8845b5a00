/**
 * What temporary sessions have cost that are deleted: by model and hour, and nothing else about
 * them. Loaded with the first one, and for reports.
 */
import { atomicWrite, readTextIfAny } from "../os/files.ts";
import { SvcError } from "../protocol/errors.ts";
import { addSpent } from "./costs.ts";
import type { HourCost } from "./session_state.ts";

/** After so many days, hours are summed up by day. */
const HOURS_DAYS = 31;
const DAY_MS = 24 * 3_600_000;

interface Kept {
  /** The session whose costs were added last: after a kill its deletion may begin again. */
  last: string;
  hours: HourCost[];
}

export class DeletedCosts {
  readonly #path: string;
  #kept: Promise<Kept> | undefined;
  /** One session after the other. */
  #adding: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the costs, oldest first. @throws the system's error */
  async read(): Promise<readonly HourCost[]> {
    return (await this.#read()).hours;
  }

  /**
   * Adds the costs of a session once, even if it is deleted again after a kill.
   *
   * @param begin begins the deletion, after which none begins again
   * @throws the system's error
   */
  async add(id: string, hours: readonly HourCost[], begin: () => Promise<void>): Promise<void> {
    const added = this.#adding.then(async () => {
      const kept = await this.#read();
      if (hours.length > 0 && kept.last !== id) {
        const sum = { last: id, hours: summed([...kept.hours, ...hours], Date.now()) };
        await atomicWrite(this.#path, JSON.stringify(sum), 0o600);
        this.#kept = Promise.resolve(sum);
      }
      await begin();
    });
    this.#adding = added.catch(() => {});
    await added;
  }

  #read(): Promise<Kept> {
    return this.#kept ??= readTextIfAny(this.#path).then((text) => parse(text, this.#path)).catch(
      (error) => {
        this.#kept = undefined;
        throw error;
      },
    );
  }
}

/** @throws {SvcError} internal */
function parse(text: string | undefined, path: string): Kept {
  if (text === undefined) return { last: "", hours: [] };
  try {
    const kept = JSON.parse(text) as Kept;
    if (Array.isArray(kept.hours)) return kept;
  } catch {
    // Refused below.
  }
  throw new SvcError("internal", `cannot read the costs of deleted sessions: ${path} is damaged`, {
    hint: "restore the file from a backup, or remove it",
  });
}

/** One entry for each model and hour, or day if it is long ago; oldest first. */
export function summed(hours: readonly HourCost[], now: number): HourCost[] {
  const old = new Date(now - HOURS_DAYS * DAY_MS).toISOString();
  const sums = new Map<string, HourCost>();
  for (const { at, model, ...spent } of hours) {
    const start = at < old ? `${at.slice(0, 10)}T00:00:00.000Z` : at;
    const key = `${start} ${model ?? ""}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { at: start, model, ...spent });
    else addSpent(sum, spent);
  }
  return [...sums].sort(([a], [b]) => a < b ? -1 : 1).map(([, sum]) => sum);
}
