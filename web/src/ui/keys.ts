/** Keys that the page has of its own. */

export const APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** What is pressed with a key, as people write it. */
export const MODIFIER = APPLE ? "⌘" : "Ctrl+";

/** What goes before the letters that a terminal has with Ctrl. */
export const LETTER = APPLE ? "⌃" : "Alt+";

/** The key that was pressed. Where keys have no Latin letters, the one that they have on others. */
export function keyOf({ key = "", code = "" }: KeyboardEvent): string {
  return code.startsWith("Key") && !/^[ -~\p{Script=Latin}]/u.test(key)
    ? code[3].toLowerCase()
    : key;
}

/**
 * Reports whether a key is one that a terminal has with Ctrl. Browsers leave it to pages on a Mac;
 * elsewhere Ctrl+R reloads and Ctrl+O opens a file, also while somebody writes: there it is Alt.
 */
export function isLetter(event: KeyboardEvent, letter: string): boolean {
  const { shiftKey, metaKey, ctrlKey, altKey } = event;
  return keyOf(event) === letter && !shiftKey && !metaKey && ctrlKey === APPLE && altKey !== APPLE;
}

/** Where a letter is typed, or chooses something. */
const TYPED_INTO = "input, textarea, select, [contenteditable]";

/** Reports whether a letter would be typed. */
export function isTyped({ target }: Event): boolean {
  return target instanceof Element && target.closest(TYPED_INTO) !== null;
}

/**
 * Keeps from the page the keys that an input method takes, such as the Enter and the Escape that end
 * a composition. In Safari it has ended when its Enter is told, as the key 229.
 */
export function keepCompositions(): void {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) event.stopPropagation();
  }, { capture: true });
}
