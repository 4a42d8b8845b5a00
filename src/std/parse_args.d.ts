/** The part of `@std/cli/parse-args` that is used here. */
export interface ParseOptions {
  boolean?: string[];
  string?: string[];
  collect?: string[];
  default?: Record<string, unknown>;
  alias?: Record<string, string | string[]>;
  stopEarly?: boolean;
  "--"?: boolean;
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}
// deno-lint-ignore no-explicit-any
export type Args = { _: (string | number)[]; "--"?: string[] } & Record<string, any>;
export function parseArgs(args: string[], options?: ParseOptions): Args;
