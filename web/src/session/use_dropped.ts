/** Files that are dragged onto the page while a message can be written. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/**
 * Takes files that are dropped anywhere on the page: beside the box, the browser would open them.
 *
 * @returns whether files are being dragged over the page
 */
export function useDropped(take: (data: DataTransfer | null) => boolean): boolean {
  const over = useSignal(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      over.value = true;
    }, { signal });
    // Comes between elements, too; only one without another element leaves the page.
    addEventListener("dragleave", ({ relatedTarget }) => {
      if (relatedTarget === null) over.value = false;
    }, { signal });
    addEventListener("drop", (event) => {
      over.value = false;
      if (!hasFiles(event)) return;
      event.preventDefault();
      latest.current(event.dataTransfer);
    }, { signal });
    return () => leaving.abort();
  }, []);
  return over.value;
}
