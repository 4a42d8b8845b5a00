/**
 * Defines a command once, as data. Parsing, `--help`, completions, manual pages, docs/reference and
 * the types of flags and arguments come from it.
 */

/** How a value is read from text. */
export interface ValueType<T> {
  /** Completes "expected …", such as "a number from 0 to 64". */
  readonly expects: string;
  readonly values?: readonly string[];
  readonly listed?: boolean;
  /** Reads a value; undefined for invalid text. */
  parse(text: string): T | undefined;
  /** Returns the valid value that a wrong text probably means. */
  nearest?(text: string): string | undefined;
}

export interface FlagOptions {
  short?: string;
  /** Missing from help and completions: for use between parts of svc. */
  hidden?: boolean;
  /** Its heading in help; "Options" by default. */
  group?: string;
}

export interface Switch extends FlagOptions {
  readonly kind: "switch";
  readonly help: string;
}

export interface Option<T = unknown, D extends boolean = boolean> extends FlagOptions {
  readonly kind: "option";
  readonly type: ValueType<T>;
  /** Name of the value in help, such as `id` for `--model <id>`. */
  readonly value: string;
  readonly help: string;
  /** The default, as text. */
  readonly default?: string;
  readonly has_default: D;
  /** Whether it can be repeated; its value is a list. */
  readonly repeats?: boolean;
}

export interface Argument<T = unknown, R extends boolean = boolean> {
  readonly type: ValueType<T>;
  readonly help: string;
  readonly required: R;
  /** Takes all remaining arguments, joined by spaces. */
  readonly rest?: boolean;
  readonly default?: string;
}

export type Flag = Switch | Option;

export interface Spec<
  F extends Record<string, Flag> = Record<string, Flag>,
  A extends Record<string, Argument> = Record<string, Argument>,
> {
  /** One line without a full stop, such as "Run the daemon in the foreground". */
  readonly summary: string;
  readonly about?: string;
  readonly args: A;
  readonly flags: F;
  readonly examples?: readonly (readonly [command: string, help: string])[];
  readonly notes?: string;
}

export interface Input<S extends Spec> {
  readonly flags: { readonly [N in keyof S["flags"]]: FlagValue<S["flags"][N]> };
  readonly args: { readonly [N in keyof S["args"]]: ArgumentValue<S["args"][N]> };
  /** Names of the flags that were given, without defaults. */
  readonly given: readonly string[];
}

type FlagValue<F> = F extends Switch ? boolean
  : F extends Option<infer T, infer D> ? (D extends true ? T : T | undefined)
  : never;
type ArgumentValue<A> = A extends Argument<infer T, infer R> ? (R extends true ? T : T | undefined)
  : never;

/** Runs a command. @returns the exit code. */
export type Run<S extends Spec = Spec> = (input: Input<S>) => Promise<number>;

/** A word of the command line: a command, a group of commands, or both. */
export interface Command {
  readonly spec: Spec;
  /** Loads the implementation; missing for a mere group. */
  load?(): Promise<Run>;
  readonly commands?: Readonly<Record<string, Command>>;
  /** The words that replace a deprecated name. */
  readonly alias?: readonly string[];
  /** Not listed in help. */
  readonly former?: boolean;
}
