import { type Signal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { useApp } from "../app.ts";

/**
 * A signal that this entry of the history keeps, so that Back brings it back.
 *
 * @param name of its own in its view
 */
export function useKept<T extends string | number>(name: string, initial: T): Signal<T> {
  const { router } = useApp();
  const [kept] = useState(() => signal(router.kept<T>(name) ?? initial));
  useEffect(() => kept.subscribe((value) => router.keep(name, value)), [kept]);
  return kept;
}
