/** Escape twice stops the turn. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";

/** Time for the second Escape. */
const ARMED_MS = 1_500;

/** Whose Escape is about themselves. */
const OWN = "dialog, search, [popover], .sidebar, .approvals";

/** What Escape closes, wherever the focus is: a click on its text leaves it to the page. */
const OPEN = "dialog[open], [popover]:popover-open";

/** @returns whether the next Escape stops the turn */
export function useStopKey(running: boolean, stop: () => Promise<void>): boolean {
  const app = useApp();
  const armed = useSignal(false);
  useEffect(() => {
    if (!running) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const disarm = () => {
      clearTimeout(timer);
      armed.value = false;
    };
    const onKey = (event: KeyboardEvent) => {
      const { key, target, defaultPrevented, repeat } = event;
      if (key !== "Escape") return disarm();
      const own = target instanceof Element && target.closest(OWN) !== null ||
        document.querySelector(OPEN) !== null;
      if (defaultPrevented || repeat || own) return;
      if (armed.peek()) {
        disarm();
        app.attempt(stop);
        return;
      }
      armed.value = true;
      app.announcer.say("Press Escape again to stop the turn");
      timer = setTimeout(disarm, ARMED_MS);
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
      disarm();
    };
  }, [running]);
  return armed.value;
}
