import { deadline } from "@std/async";

/** Waits for a promise, at most so many milliseconds. @returns whether it was fulfilled by then. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    await deadline(promise, ms);
    return true;
  } catch {
    return false;
  }
}
