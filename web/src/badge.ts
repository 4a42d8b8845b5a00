/** Marks the page's tab, and the installed app, while questions wait. */

/** Shows how many questions wait; none for 0. */
export function showWaiting(count: number): void {
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const href = count > 0 ? link?.dataset.waiting : link?.dataset.idle;
  if (link && href && link.getAttribute("href") !== href) link.href = href;
  // Browsers have it for installed apps only, or not at all.
  const shown = count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.();
  shown?.catch(() => {});
}
