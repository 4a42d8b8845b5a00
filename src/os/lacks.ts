/** What the system answers when it is short of something which it may have a moment later. */
const CODES = new Set(["EAGAIN", "EINTR", "EMFILE", "ENFILE", "ENOMEM"]);
/** The same in the words of the system and of programs. */
const WORDS = new RegExp(
  "temporarily unavailable|cannot allocate|out of memory|can(?:not|'t) fork|too many open|" +
    "no space left|no buffer space|interrupted|text file busy",
  "i",
);

/**
 * Reports whether something failed for lack of processes, memory, descriptors or room: that says
 * nothing about what a machine can do or what is there.
 *
 * @param error what was thrown, or what a program complained of
 */
export function lacksForNow(error: unknown): boolean {
  if (typeof error === "string") return WORDS.test(error);
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? CODES.has(code) : WORDS.test(error.message);
}
