import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { explain } from "../rpc/api.ts";

interface Submitting {
  busy: ReadonlySignal<boolean>;
  /** Why it did not work the last time; the form may have more to say, or take it back. */
  error: Signal<string | undefined>;
  /** For the form, or for a dialog's one button: sends it, unless it is being sent. */
  submit(event: Event): Promise<void>;
}

/** A form that is sent once, however often Enter is pressed meanwhile. */
export function useSubmit(send: () => Promise<unknown>): Submitting {
  const busy = useSignal(false);
  const error = useSignal<string | undefined>(undefined);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy.peek()) return;
    busy.value = true;
    error.value = undefined;
    try {
      await send();
    } catch (thrown) {
      error.value = explain(thrown);
    } finally {
      busy.value = false;
    }
  };
  return { busy, error, submit };
}

/** For a form with a text of many lines: Ctrl+Enter, or Cmd+Enter, presses its button. */
export function submitOnCtrlEnter(event: KeyboardEvent & { currentTarget: HTMLFormElement }): void {
  if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
    event.currentTarget.querySelector<HTMLElement>("[type=submit]")!.click();
  }
}
