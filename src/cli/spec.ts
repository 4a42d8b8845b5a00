/**
 * How a command is stated: once, as data. Parsing, `--help`, completions, manual pages and
 * docs/reference are made from it, and the types of a command's flags and arguments are inferred.
 */

/** A type of values: how they are read from text, and what is expected. */
export interface ValueType<T> {
  /** Completes "expected …", such as "a number from 0 to 64". */
  readonly expects: string;
  /** The values that completions offer. */
  readonly values?: readonly string[];
  /** Whether help lists the values. */
  readonly listed?: boolean;
  /** Reads a value; undefined if the text is not valid. */
  parse(text: string): T | undefined;
  /** Returns the valid value that a wrong text probably stands for. */
  nearest?(text: string): string | undefined;
}

export interface FlagOptions {
  /** One letter, such as `m` for `-m`. */
  short?: string;
  /** Not in help and completions: for use between parts of svc. */
  hidden?: boolean;
  /** The heading that help lists it under; "Options" by default. */
  group?: string;
}

/** A flag without a value. */
export interface Switch extends FlagOptions {
  readonly kind: "switch";
  readonly help: string;
}

/** A flag with a value. */
export interface Option<T = unknown, D extends boolean = boolean> extends FlagOptions {
  readonly kind: "option";
  readonly type: ValueType<T>;
  /** Name of the value in help, such as `id` for `--model <id>`. */
  readonly value: string;
  readonly help: string;
  /** The value that is used if the flag is missing, as text. */
  readonly default?: string;
  readonly has_default: D;
  /** Whether it can be given more than once; its value is a list. */
  readonly repeats?: boolean;
}

/** An argument that is not a flag. */
export interface Argument<T = unknown, R extends boolean = boolean> {
  readonly type: ValueType<T>;
  readonly help: string;
  /** Whether it must be given. */
  readonly required: R;
  /** Takes all remaining arguments, joined by spaces. */
  readonly rest?: boolean;
  readonly default?: string;
}

export type Flag = Switch | Option;

/** Everything that is said of a command. */
export interface Spec<
  F extends Record<string, Flag> = Record<string, Flag>,
  A extends Record<string, Argument> = Record<string, Argument>,
> {
  /** One line without a full stop, such as "Run the daemon in the foreground". */
  readonly summary: string;
  /** Further paragraphs of the description. */
  readonly about?: string;
  /** Arguments in their order, by name. */
  readonly args: A;
  readonly flags: F;
  /** Command lines with a word on each. */
  readonly examples?: readonly (readonly [command: string, help: string])[];
  /** Paragraphs after the flags. */
  readonly notes?: string;
}

/** The parsed command line of a command. */
export interface Input<S extends Spec> {
  readonly flags: { readonly [N in keyof S["flags"]]: FlagValue<S["flags"][N]> };
  readonly args: { readonly [N in keyof S["args"]]: ArgumentValue<S["args"][N]> };
  /** Names of the flags that were given, not those with a default. */
  readonly given: readonly string[];
}

type FlagValue<F> = F extends Switch ? boolean
  : F extends Option<infer T, infer D> ? (D extends true ? T : T | undefined)
  : never;
type ArgumentValue<A> = A extends Argument<infer T, infer R> ? (R extends true ? T : T | undefined)
  : never;

/** Runs a command. @returns the exit code. */
export type Run<S extends Spec = Spec> = (input: Input<S>) => Promise<number>;

/** A word of the command line: a command, commands below it, or both. */
export interface Command {
  readonly spec: Spec;
  /** Loads the implementation; missing if the command is only a group of others. */
  load?(): Promise<Run>;
  readonly commands?: Readonly<Record<string, Command>>;
  /** A deprecated name: the words that replace it. Not listed in help. */
  readonly alias?: readonly string[];
  /** Not listed in help. */
  readonly former?: boolean;
}
