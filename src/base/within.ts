import { deadline } from "@std/async";

/** Waits for a promise for some milliseconds. @returns whether it was fulfilled */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    await deadline(promise, ms);
    return true;
  } catch {
    return false;
  }
}
