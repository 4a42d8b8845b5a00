/**
 * Cuts a text into pieces of at most so many characters, where a line or else a word ends. Of one
 * that grows only the last piece changes.
 */
export function pieces(text: string, max: number): string[] {
  const cut: string[] = [];
  let from = 0;
  while (text.length - from > max) {
    const room = text.slice(from, from + max);
    const end = room.lastIndexOf("\n") + 1 || room.lastIndexOf(" ") + 1 || max;
    // Two halves of a character would each be shown as none.
    const length = end === max ? room.replace(/[\uD800-\uDBFF]$/, "").length : end;
    cut.push(room.slice(0, length));
    from += length;
  }
  cut.push(text.slice(from));
  return cut;
}
