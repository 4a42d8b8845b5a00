/** Missions that are being written: kept by the browser until they are started. */
import { emptyForm, formOfSeed, type MissionForm, type Seed } from "./spec_form.ts";

export interface MissionDraft {
  workdir: string;
  model: string;
  unattended: boolean;
  form: MissionForm;
  /** The statement of work as a text, while it is shown as one. */
  text?: string;
  /** The text that the form was read from, and the spec that the form spelled then. */
  read?: { text: string; spec: string };
}

/** Where a draft is kept. One tab at a time has it, so that none writes over another's. */
export interface DraftPlace {
  key: string;
  /** Resolves once another tab can have it. */
  leave(): Promise<unknown>;
}

/** After a reload the page that was may have its place for a moment. */
const OWN_WAIT_MS = 500;

/** Of each conversation, and of none; what follows it names the places of further tabs. */
function firstKey(seed: Seed | undefined): string {
  return `svc.mission.${seed?.session_id ?? ""}`;
}

/** What a draft begins with. */
export function newDraft(seed: Seed | undefined): MissionDraft {
  return {
    workdir: seed?.workdir ?? "",
    model: "",
    unattended: false,
    form: seed === undefined ? emptyForm() : formOfSeed(seed),
  };
}

/** The draft that was left in a place, or undefined. */
export function leftDraft(seed: Seed | undefined, key: string): MissionDraft | undefined {
  try {
    const left = JSON.parse(localStorage.getItem(key) ?? "null");
    // What another version of the page has left may have other members.
    return Array.isArray(left?.form?.tasks) ? { ...newDraft(seed), ...left } : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a draft in a place, or forgets the one there. */
export function keepDraft(key: string, draft: MissionDraft | undefined): void {
  try {
    if (draft === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // Without storage it lasts as long as the page.
  }
}

/** The places that have drafts of a mission, in a fixed order. */
function draftKeys(seed: Seed | undefined): string[] {
  const first = firstKey(seed);
  try {
    return Object.keys(localStorage)
      .filter((key) => key === first || key.startsWith(`${first}.`))
      .filter((key) => leftDraft(seed, key) !== undefined)
      .sort();
  } catch {
    return [];
  }
}

/** Takes the place that this tab had, one where a draft was left, or a new one. */
export async function takePlace(seed: Seed | undefined): Promise<DraftPlace> {
  const first = firstKey(seed);
  let own: string | null = null;
  try {
    own = sessionStorage.getItem(first);
  } catch {
    // Without storage nothing was left.
  }
  return own !== null && await take(first, own, { signal: AbortSignal.timeout(OWN_WAIT_MS) }) ||
    await takeFree(first, [...draftKeys(seed), first]) ||
    // No other tab knows it.
    (await take(first, `${first}.${crypto.randomUUID()}`))!;
}

/** Takes the place of the next draft that no tab has; undefined without one. */
export function takeNext(
  seed: Seed | undefined,
  after: string,
): Promise<DraftPlace | undefined> {
  const keys = draftKeys(seed).filter((key) => key !== after);
  const next = keys.findIndex((key) => key > after);
  const wanted = next < 0 ? keys : [...keys.slice(next), ...keys.slice(0, next)];
  return takeFree(firstKey(seed), wanted);
}

async function takeFree(first: string, keys: string[]): Promise<DraftPlace | undefined> {
  for (const key of keys) {
    const place = await take(first, key);
    if (place !== undefined) return place;
  }
}

/** @returns undefined when another tab has it */
function take(
  first: string,
  key: string,
  options: LockOptions = { ifAvailable: true },
): Promise<DraftPlace | undefined> {
  return new Promise((resolve) => {
    const taken = (leave: DraftPlace["leave"]) => {
      try {
        sessionStorage.setItem(first, key);
      } catch {
        // Then a reload takes any draft that was left.
      }
      resolve({ key, leave });
    };
    // Only pages that came over a safe connection have locks.
    if (navigator.locks === undefined) return taken(() => Promise.resolve());
    const had: Promise<unknown> = navigator.locks.request(key, options, (lock) => {
      if (lock === null) return resolve(undefined);
      return new Promise<void>((release) =>
        taken(() => {
          release();
          return had;
        })
      );
    }).catch(() => resolve(undefined));
  });
}

/** Other drafts of the same mission: whether a tab has one open now, and whether one was left. */
export interface OtherDrafts {
  open: boolean;
  left: boolean;
}

/** Finds the drafts beside the one of a place. */
export async function othersOf(
  seed: Seed | undefined,
  { key: own }: DraftPlace,
): Promise<OtherDrafts> {
  const { held = [] } = await navigator.locks?.query() ?? {};
  const others = draftKeys(seed).filter((key) => key !== own);
  const open = others.filter((key) => held.some(({ name }) => name === key)).length;
  return { open: open > 0, left: open < others.length };
}

/** Calls back when another tab may have changed or left a draft of the same mission. @returns ends that */
export function onOtherTab(seed: Seed | undefined, changed: () => void): () => void {
  const heard = ({ key }: StorageEvent) => key?.startsWith(firstKey(seed)) && changed();
  addEventListener("storage", heard);
  addEventListener("focus", changed);
  return () => {
    removeEventListener("storage", heard);
    removeEventListener("focus", changed);
  };
}
