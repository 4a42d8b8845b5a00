/** What somebody has written and chosen for a session that is not started; this browser keeps it. */
import { signal } from "@preact/signals";
import { type Approval, APPROVALS } from "./approval.ts";

const STORED = "svc.new";

interface Choices {
  text: string;
  /** The tab that keeps the files of the text. */
  tab?: string;
  /** Undefined until one is chosen: then it is the one used last. */
  workdir?: string;
  /** Undefined for the daemon's default. */
  model?: string;
  approval: Approval;
}

const shared = () => localStorage;
const own = () => sessionStorage;
const before = read(own);

/** Names this tab, also after a reload. */
export const TAB = before.tab ?? crypto.randomUUID();

/** The same for all views of this page. A new tab begins with what was written last in another one. */
export const new_session = signal<Choices>({ ...read(shared), ...before.tab && messageOf(before) });

/** Changes some of it. What another tab keeps of the rest stays, and what it has written. */
export function choose(changes: Partial<Omit<Choices, "tab">>): void {
  const was = new_session.peek();
  const now = new_session.value = { ...was, ...changes, tab: TAB };
  const kept = read(shared);
  const is_other = kept.tab !== TAB && kept.text !== was.text;
  const message = changes.text === undefined || now.text === "" && is_other ? kept : now;
  keep(own, messageOf(now));
  keep(shared, { ...kept, ...changes, ...messageOf(message) });
}

function messageOf({ text, tab }: Choices): Pick<Choices, "text" | "tab"> {
  return { text, tab };
}

function keep(where: () => Storage, choices: Partial<Choices>): void {
  try {
    where().setItem(STORED, JSON.stringify(choices));
  } catch {
    // It lasts as long as the page.
  }
}

function read(where: () => Storage): Choices {
  try {
    const { text, tab, workdir, model, approval } = JSON.parse(where().getItem(STORED) ?? "{}");
    const known = (value: unknown) => typeof value === "string" ? value : undefined;
    return {
      text: known(text) ?? "",
      tab: known(tab),
      workdir: known(workdir),
      model: known(model),
      approval: Object.hasOwn(APPROVALS, approval) ? approval : "ask",
    };
  } catch {
    return { text: "", approval: "ask" };
  }
}
