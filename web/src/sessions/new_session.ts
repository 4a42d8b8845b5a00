/** What somebody has written and chosen for a session that is not started; this browser keeps it. */
import { signal } from "@preact/signals";
import { type Approval, APPROVALS } from "./approval.ts";

const STORED = "svc.new";

interface Choices {
  text: string;
  /** Undefined until one is chosen: then it is the one used last. */
  workdir?: string;
  /** Undefined for the daemon's default. */
  model?: string;
  approval: Approval;
}

/** The same for all views of this page. */
export const new_session = signal<Choices>(read());

/** Changes some of it. What another tab keeps of the rest stays. */
export function choose(changes: Partial<Choices>): void {
  new_session.value = { ...new_session.peek(), ...changes };
  try {
    localStorage.setItem(STORED, JSON.stringify({ ...read(), ...changes }));
  } catch {
    // It lasts as long as the page.
  }
}

function read(): Choices {
  try {
    const { text, workdir, model, approval } = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return {
      text: typeof text === "string" ? text : "",
      workdir: typeof workdir === "string" ? workdir : undefined,
      model: typeof model === "string" ? model : undefined,
      approval: Object.hasOwn(APPROVALS, approval) ? approval : "ask",
    };
  } catch {
    return { text: "", approval: "ask" };
  }
}
