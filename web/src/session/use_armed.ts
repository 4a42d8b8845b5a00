/** When an answer counts: it must be meant for what is on the page. */
import { useEffect, useMemo, useState } from "preact/hooks";

/** How long a question is seen before it can be answered, in milliseconds. */
const ARM_MS = 500;
/** The keys that press a button. */
const KEYS = ["Enter", " "];

/** Whether a pointer or a key that presses buttons is held down. */
export class Held {
  #pointer = false;
  readonly #keys = new Set<string>();

  get down(): boolean {
    return this.#pointer || this.#keys.size > 0;
  }

  /** Watches the page. @returns what ends it. */
  watch(): () => void {
    const end = new AbortController();
    const on = <K extends keyof WindowEventMap>(
      types: K[],
      take: (event: WindowEventMap[K]) => void,
    ) => {
      for (const type of types) {
        addEventListener(type, take, { capture: true, signal: end.signal });
      }
    };
    on(["pointerdown"], () => this.#pointer = true);
    on(["pointerup", "pointercancel"], () => this.#pointer = false);
    // A menu or a drag takes the end of a press with it.
    on(["pointermove"], ({ buttons }) => this.#pointer &&= buttons !== 0);
    on(["keydown"], ({ key }) => KEYS.includes(key) && this.#keys.add(key));
    on(["keyup"], ({ key }) => this.#keys.delete(key));
    on(["blur"], () => {
      this.#pointer = false;
      this.#keys.clear();
    });
    return () => end.abort();
  }
}

/** What the person holds down on this page. */
export function useHeld(): Held {
  const held = useMemo(() => new Held(), []);
  useEffect(() => held.watch(), [held]);
  return held;
}

/**
 * Whether what is on the page has been there long enough, and nothing is pressed that was pressed
 * for what stood there before.
 *
 * @param shown names what is on the page; undefined while not all of it has been seen.
 */
export function useArmed(shown: string | undefined, held: Held): boolean {
  const [armed, setArmed] = useState<string>();
  useEffect(() => {
    if (shown === undefined) return;
    let timer: ReturnType<typeof setTimeout>;
    const wait = () => {
      timer = setTimeout(() => held.down ? wait() : setArmed(shown), ARM_MS);
    };
    wait();
    return () => clearTimeout(timer);
  }, [shown]);
  return shown !== undefined && armed === shown;
}
