/**
 * Keeps the focus in the page: where the control that has it goes away, and nothing else took it, it
 * goes to the view's heading. Without that the keyboard would begin again at the top of the window.
 *
 * @returns what ends it.
 */
export function keepFocus(): () => void {
  let focused: Element | undefined;
  const onFocus = ({ target }: FocusEvent) => {
    focused = target as Element;
  };
  const observer = new MutationObserver(() => {
    if (focused === undefined || focused.isConnected) return;
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>("main h1")?.focus();
  });
  addEventListener("focusin", onFocus);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    removeEventListener("focusin", onFocus);
    observer.disconnect();
  };
}
