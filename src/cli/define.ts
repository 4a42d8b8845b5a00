/** The vocabulary of the table of commands; see spec.ts for its types. */
import { APPROVALS } from "../protocol/approval.ts";
import { EFFORTS } from "../protocol/effort.ts";
import { NETWORKS } from "../protocol/network.ts";
import { parseDuration } from "../base/duration.ts";
import { nearestOf } from "../base/nearest.ts";
import type {
  Argument,
  Command,
  Flag,
  FlagOptions,
  Option,
  Run,
  Spec,
  Switch,
  ValueType,
} from "./spec.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  /** A second line: what to type instead, or where to look. */
  readonly hint?: string;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

export const TEXT: ValueType<string> = { expects: "a text", parse: (text) => text };

/** A duration in milliseconds. */
export const DURATION: ValueType<number> = {
  expects: "a duration such as 90s, 10m or 1h",
  parse: parseDuration,
};

export const JSON_VALUE: ValueType<NonNullable<unknown> | null> = {
  expects: "JSON",
  parse(text) {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  },
};

export const JSON_OBJECT: ValueType<Record<string, unknown>> = {
  expects: "a JSON object",
  parse(text) {
    const value = JSON_VALUE.parse(text);
    const is_object = typeof value === "object" && value !== null && !Array.isArray(value);
    return is_object ? value as Record<string, unknown> : undefined;
  },
};

/** Text for which completions offer known values; the daemon decides what is valid. */
export function suggested(values: readonly string[]): ValueType<string> {
  return { ...TEXT, values, listed: true };
}

/** One of these words. */
export function oneOf<const T extends string>(values: readonly T[]): ValueType<T> {
  return {
    expects: `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`,
    values,
    listed: true,
    parse: (text) => values.find((it) => it === text),
    nearest: (text) => nearestOf(text, values),
  };
}

/** A comma-separated list of these words; spaces and repetitions do not count. */
export function listOf<const T extends string>(values: readonly T[]): ValueType<T[]> {
  const words = (text: string) => text.split(",").map((it) => it.trim()).filter((it) => it !== "");
  const unknown = (text: string) => words(text).find((it) => !values.includes(it as T));
  return {
    expects: `a comma-separated list of ${values.join(", ")}`,
    values,
    parse: (text) => unknown(text) === undefined ? [...new Set(words(text) as T[])] : undefined,
    nearest: (text) => nearestOf(unknown(text) ?? "", values),
  };
}

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number): ValueType<number> {
  return {
    expects: `a number from ${min} to ${max}`,
    parse(text) {
      const value = Number(text);
      return /^\d+$/.test(text) && value >= min && value <= max ? value : undefined;
    },
  };
}

/** A positive amount in USD. */
export const USD: ValueType<number> = {
  expects: "an amount in USD such as 0.5",
  parse: (text) => /^\d*\.?\d+$/.test(text) && Number(text) > 0 ? Number(text) : undefined,
};

export const APPROVAL = oneOf(APPROVALS);
export const EFFORT = oneOf(EFFORTS);
export const EFFORT_OR_DEFAULT = oneOf([...EFFORTS, "default"]);
export const NETWORK = oneOf(NETWORKS);
export const NETWORK_OR_DEFAULT = oneOf([...NETWORKS, "default"]);

/** Defines a command. */
export function spec<
  const F extends Record<string, Flag> = Record<never, never>,
  const A extends Record<string, Argument> = Record<never, never>,
>(
  stated: Omit<Spec<F, A>, "flags" | "args"> & { flags?: F; args?: A },
): Spec<F, A> {
  return { flags: {} as F, args: {} as A, ...stated };
}

/** A flag without a value. */
export function on(help: string, options: FlagOptions = {}): Switch {
  return { kind: "switch", help, ...options };
}

/** A flag with a value. */
export function option<T, const O extends FlagOptions & { default?: string }>(
  type: ValueType<T>,
  value: string,
  help: string,
  options?: O,
): Option<T, O extends { default: string } ? true : false> {
  const has_default = options?.default !== undefined;
  return { kind: "option", type, value, help, ...options, has_default: has_default as never };
}

/** A flag with a value that can be repeated. */
export function options<T>(
  type: ValueType<T>,
  value: string,
  help: string,
  more?: FlagOptions,
): Option<T[], true> {
  const each = type as ValueType<never>;
  return { kind: "option", type: each, value, help, ...more, has_default: true, repeats: true };
}

/** A required argument. */
export function argument<T>(type: ValueType<T>, help: string): Argument<T, true> {
  return { type, help, required: true };
}

/** An optional argument. */
export function optional<T>(
  type: ValueType<T>,
  help: string,
  fallback?: string,
): Argument<T, false> {
  return { type, help, required: false, default: fallback };
}

/** All remaining arguments, as one text. */
export function words(help: string): Argument<string, true> {
  return { type: TEXT, help, required: true, rest: true };
}

export const JSON_FLAG = on("Print JSON");

/** A command with its implementation and perhaps subcommands. */
export function command<S extends Spec>(
  stated: S,
  load: () => Promise<Run<S>>,
  commands?: Record<string, Command>,
): Command {
  return { spec: stated, load: load as unknown as () => Promise<Run>, commands };
}

/** A group of commands. */
export function group(
  stated: Omit<Spec, "flags" | "args">,
  commands: Record<string, Command>,
): Command {
  return { spec: spec(stated), commands };
}

/** A deprecated name for other words. */
export function alias(...words: string[]): Command {
  const summary = `Deprecated: use \`svc ${words.join(" ")}\``;
  return { spec: spec({ summary }), alias: words, former: true };
}
