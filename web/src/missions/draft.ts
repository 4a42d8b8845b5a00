/** A mission that is being written: kept by the browser until it is started, one for each conversation. */
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

/** @param other for the draft of a tab that was not the only one to write */
function keyOf(seed: Seed | undefined, other = false): string {
  return `svc.mission.${seed?.session_id ?? ""}${other ? ".other" : ""}`;
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

/** The draft that was left, the one of another tab, or undefined. */
export function leftDraft(seed: Seed | undefined, other = false): MissionDraft | undefined {
  try {
    const left = JSON.parse(localStorage.getItem(keyOf(seed, other)) ?? "null");
    // What another version of the page has left may have other members.
    return Array.isArray(left?.form?.tasks) ? { ...newDraft(seed), ...left } : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a draft, or forgets the one that was left. */
export function keepDraft(
  seed: Seed | undefined,
  draft: MissionDraft | undefined,
  other = false,
): void {
  try {
    if (draft === undefined) localStorage.removeItem(keyOf(seed, other));
    else localStorage.setItem(keyOf(seed, other), JSON.stringify(draft));
  } catch {
    // Without storage it lasts as long as the page.
  }
}

/** Calls back when another tab writes a draft of the same mission. @returns ends that */
export function onOtherTab(seed: Seed | undefined, found: () => void): () => void {
  const heard = ({ key, newValue }: StorageEvent) => {
    if (key === keyOf(seed) && newValue !== null) found();
  };
  addEventListener("storage", heard);
  return () => removeEventListener("storage", heard);
}
