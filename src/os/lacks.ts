/** Errors for resources that may be free a moment later. */
const CODES = new Set(["EAGAIN", "EINTR", "EMFILE", "ENFILE", "ENOMEM"]);
/** The same in messages of the system and of programs. */
const WORDS = new RegExp(
  "temporarily unavailable|cannot allocate|out of memory|can(?:not|'t) fork|too many open|" +
    "no space left|no buffer space|interrupted|text file busy",
  "i",
);

/**
 * Reports whether something failed for lack of processes, memory, descriptors or space, which says
 * nothing about what the machine can do.
 *
 * @param error what was thrown, or a program's message
 */
export function lacksForNow(error: unknown): boolean {
  if (typeof error === "string") return WORDS.test(error);
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? CODES.has(code) : WORDS.test(error.message);
}
