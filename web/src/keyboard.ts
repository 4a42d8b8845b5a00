/**
 * Keeps the page in what a screen keyboard leaves of the window. Browsers that know
 * `interactive-widget` do that themselves; others lay the keyboard over the page.
 */

/** Less than this is the browser's own bars. */
const KEYBOARD_MIN_PX = 80;
const SEEN = "--seen-height";

export function keepAboveKeyboard(): void {
  const seen = globalThis.visualViewport;
  if (!seen) return;
  const { style } = document.documentElement;
  const fit = () => {
    // What is zoomed in shows less of the page, without a keyboard.
    const covered = seen.scale > 1.01 ? 0 : innerHeight - seen.height;
    if (covered < KEYBOARD_MIN_PX) return style.removeProperty(SEEN);
    style.setProperty(SEEN, `${seen.height}px`);
    // Such a browser has moved the page up to show the field; now it is in sight where it is.
    scrollTo(0, 0);
  };
  seen.addEventListener("resize", fit);
  fit();
}
