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

function keyOf(seed: Seed | undefined): string {
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

/** The draft that was left, or a new one. */
export function leftDraft(seed: Seed | undefined): MissionDraft {
  try {
    const left = JSON.parse(localStorage.getItem(keyOf(seed)) ?? "null");
    // What another version of the page has left may have other members.
    return Array.isArray(left?.form?.tasks) ? { ...newDraft(seed), ...left } : newDraft(seed);
  } catch {
    return newDraft(seed);
  }
}

/** Keeps a draft, or forgets the one that was left. */
export function keepDraft(seed: Seed | undefined, draft: MissionDraft | undefined): void {
  try {
    if (draft === undefined) localStorage.removeItem(keyOf(seed));
    else localStorage.setItem(keyOf(seed), JSON.stringify(draft));
  } catch {
    // Without storage it lasts as long as the page.
  }
}
