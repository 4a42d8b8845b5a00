/** The part of `@std/ulid` that is used here. */
export function monotonicUlid(seedTime?: number): string;
