/** The part of `@std/path` that is used here. */
export const SEPARATOR: string;
export function basename(path: string, suffix?: string): string;
export function common(paths: string[], separator?: string): string;
export function dirname(path: string): string;
export function extname(path: string): string;
export function join(...paths: string[]): string;
export function resolve(...paths: string[]): string;
export function relative(from: string, to: string): string;
export function normalize(path: string): string;
export function isAbsolute(path: string): boolean;
export function fromFileUrl(url: string | URL): string;
export function toFileUrl(path: string): URL;
export function globToRegExp(
  glob: string,
  options?: { extended?: boolean; globstar?: boolean; caseInsensitive?: boolean },
): RegExp;
