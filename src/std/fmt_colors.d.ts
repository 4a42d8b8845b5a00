/** The part of `@std/fmt/colors` that is used here. */
export function bold(text: string): string;
export function cyan(text: string): string;
export function dim(text: string): string;
export function green(text: string): string;
export function italic(text: string): string;
export function magenta(text: string): string;
export function red(text: string): string;
export function underline(text: string): string;
export function yellow(text: string): string;
