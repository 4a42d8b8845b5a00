import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { explain } from "../rpc/api.ts";
import { Icon } from "./icon.tsx";
import { Failed, Loading } from "./states.tsx";

interface DisclosureProps<T> {
  label: string;
  /** Asked for each time it is opened. */
  load(): Promise<T>;
  /** What it is about, as it is now: what is shown is asked for anew when that changes. */
  version?: string;
  children(value: T): ComponentChildren;
}

/** Something that is asked for, and shown, when the person wants it. */
export function Disclosure<T>({ label, load, version, children }: DisclosureProps<T>) {
  const open = useSignal(false);
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  const asked = useRef(0);
  const ask = async () => {
    const turn = ++asked.current;
    error.value = undefined;
    try {
      const found = await load();
      // Asked again meanwhile, it is out of date.
      if (turn === asked.current) value.value = found;
    } catch (thrown) {
      if (turn === asked.current) error.value = explain(thrown);
    }
  };
  useEffect(() => {
    if (open.value) ask();
  }, [open.value, version]);
  return (
    <div class="disclosure">
      <button
        type="button"
        class="disclosure-head"
        aria-expanded={open.value}
        onClick={() => open.value = !open.value}
      >
        <Icon name="chevron" />
        {label}
      </button>
      {open.value && (
        <div class="disclosure-body">
          {error.value !== undefined
            ? <Failed message={error.value} onRetry={ask} />
            : value.value === undefined
            ? <Loading lines={1} />
            : children(value.value)}
        </div>
      )}
    </div>
  );
}
