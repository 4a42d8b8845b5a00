/** The part of `@std/cli/prompt-secret` that is used here. */
export function promptSecret(message?: string, options?: { mask?: string }): string | null;
