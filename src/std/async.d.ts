/** The part of `@std/async` that is used here. */
export function delay(
  ms: number,
  options?: { signal?: AbortSignal; persistent?: boolean },
): Promise<void>;
export function deadline<T>(
  p: Promise<T>,
  ms: number,
  options?: { signal?: AbortSignal },
): Promise<T>;
export function abortable<T>(p: Promise<T>, signal: AbortSignal): Promise<T>;
