/** Which key sends a message: Enter, or Ctrl+Enter where Enter begins a new line. */
import { signal } from "@preact/signals";
import { APPLE, MODIFIER } from "../ui/keys.ts";

const STORED = "svc.enter_sends";

/** A screen keyboard has no Shift+Enter. Tests import the views without a browser. */
const DEFAULT = !globalThis.matchMedia?.("(pointer: coarse)").matches;

/** The same for all sessions and tabs of this browser. */
export const enter_sends = signal(stored() ?? DEFAULT);

function stored(): boolean | undefined {
  try {
    const value = localStorage.getItem(STORED);
    return value === null ? undefined : value === "true";
  } catch {
    return undefined;
  }
}

/** Reports whether a key sends. Ctrl+Enter always does. */
export function isSend(event: KeyboardEvent, with_enter: boolean): boolean {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  if (key !== "Enter") return false;
  return ctrlKey || metaKey || with_enter && !shiftKey && !altKey;
}

/** Reports whether a key has the message wait for a turn of its own: Alt+Enter. */
export function isQueue(event: KeyboardEvent): boolean {
  return event.key === "Enter" && event.altKey;
}

/** Says which key sends; pressing it changes that. */
export function SendKey() {
  const change = () => {
    enter_sends.value = !enter_sends.value;
    try {
      localStorage.setItem(STORED, String(enter_sends.value));
    } catch {
      // The choice then lasts until the page closes.
    }
  };
  return (
    <button
      type="button"
      class="button quiet composer-hint"
      role="switch"
      aria-checked={enter_sends.value}
      aria-label="Enter sends the message"
      title={enter_sends.value
        ? `Shift+Enter starts a new line. Press to send with ${MODIFIER}Enter instead.`
        : "Press to send with Enter instead."}
      onClick={change}
    >
      {enter_sends.value
        ? (
          <span>
            <kbd>↵</kbd> sends
          </span>
        )
        : (
          <span>
            <kbd>{APPLE ? "⌘" : "Ctrl"}</kbd> <kbd>↵</kbd> sends
          </span>
        )}
    </button>
  );
}
