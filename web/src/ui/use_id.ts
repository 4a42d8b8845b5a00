import { useState } from "preact/hooks";

let last = 0;

/**
 * Returns an id that no other element of the page has. Preact 10.29's `useId` begins to count anew
 * when its root is drawn again while a component below it is not, so a label could name an element
 * elsewhere.
 */
export function useId(): string {
  const [id] = useState(() => `id-${++last}`);
  return id;
}
