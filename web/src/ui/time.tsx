import { signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { ago, fullTime } from "../format.ts";

const TICK_MS = 5_000;

/** The time, as often as what depends on it is drawn anew. */
export class Clock {
  readonly now = signal(Date.now());

  constructor() {
    setInterval(() => this.now.value = Date.now(), TICK_MS);
  }
}

export const ClockContext = createContext<Clock | undefined>(undefined);

/** How long ago something happened; the time itself in its title, which is made when it is pointed at. */
export function Ago({ at }: { at: string }) {
  const clock = useContext(ClockContext);
  return (
    <time
      dateTime={at}
      onPointerEnter={({ currentTarget }) => currentTarget.title = fullTime(at)}
    >
      {ago(at, clock?.now.value ?? Date.now())}
    </time>
  );
}
