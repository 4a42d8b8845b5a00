import { useEffect, useState } from "preact/hooks";

/** Room for two columns of code. */
export const WIDE = "(min-width: 64rem)";
/** A phone. */
export const NARROW = "(max-width: 40rem)";

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const look = () => setHolds(media.matches);
    look();
    media.addEventListener("change", look);
    return () => media.removeEventListener("change", look);
  }, [query]);
  return holds;
}
