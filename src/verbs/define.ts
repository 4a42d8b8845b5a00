/**
 * A verb is one thing that a client can do, with its name, input, output and handler. All doors
 * (socket, WebSocket, REST, command line) are derived from the registry of verbs.
 */
import * as z from "zod";
import { InvalidParams, SvcError } from "../protocol/errors.ts";
import { Opener } from "../base/lazy.ts";
import type { Text } from "../base/text_slices.ts";
import type { Asking, Held } from "./answer_room.ts";
import type {
  BoundVerb,
  Call,
  Caller,
  Context,
  PushChannel,
  RestRoute,
  TypedVerb,
  Verb,
  VerbOf,
} from "./verb.ts";

export type * from "./verb.ts";

/**
 * Returns the channel for a caller's pushed events.
 *
 * @param hint what the caller can use instead
 * @throws {SvcError} validation if the transport cannot push
 */
export function pushChannel(caller: Caller, verb: string, hint: string): PushChannel {
  if (caller.push !== undefined) return caller.push;
  throw new SvcError("validation", `${verb}: this transport cannot push events`, { hint });
}

/** Whether a model may be the caller. Verbs that allow something check this. */
export function mayBeModel({ via }: Caller): boolean {
  return via === "mcp";
}

export const nothing = () => z.object({});

interface Definition<I extends z.ZodType, O extends z.ZodType, S> extends
  Pick<
    Verb,
    "destructive" | "internal" | "idempotent" | "large" | "legacy" | "replaces" | "secrets"
  > {
  name: string;
  summary: string;
  input: () => I;
  output: () => O;
  access: "read" | "write";
  rest?: Omit<RestRoute, "location"> & { location?(result: z.output<O>): string };
  handle(
    context: Context<S>,
    params: z.output<I>,
  ): z.output<O> | Prepared<z.output<O>> | Promise<z.output<O> | Prepared<z.output<O>>>;
}

/**
 * Returns a function that defines verbs for services `S`. The schemas type a handler's parameters
 * and result. They are functions, because schemas are slow to create.
 */
export function verbsOf<S>() {
  return function defineVerb<const N extends string, I extends z.ZodType, O extends z.ZodType>(
    definition: Definition<I, O, S> & { name: N },
  ): TypedVerb<N, I, O, S> {
    const { input: makeInput, ...rest } = definition;
    let input: I | undefined;
    const verb = {
      ...rest,
      takes_nothing: (makeInput as () => z.ZodType) === nothing,
      get input() {
        return input ??= makeInput();
      },
    };
    return verb as unknown as TypedVerb<N, I, O, S>;
  };
}

/** A result with cached JSON, for frequent answers that seldom change. */
export class Prepared<T> {
  readonly value: T;
  #json: Text | undefined;

  /** @param json the value as JSON, if known */
  constructor(value: T, json?: Text) {
    this.value = value;
    this.#json = json;
  }

  get json(): Text {
    return this.#json ??= JSON.stringify(this.value);
  }
}

export function resultJson(result: unknown): Text {
  return result instanceof Prepared ? result.json : JSON.stringify(result ?? {});
}

/** Binds verbs to their services. */
export function bind<S>(verbs: readonly VerbOf<S>[], services: S): BoundVerb[] {
  return verbs.map((verb) => ({
    verb,
    handle(params, caller, call) {
      return verb.handle(new CallContext(services, caller, call), params);
    },
  }));
}

/** A class, because an object with its own getter is slow to make, and each call has one. */
class CallContext<S> implements Context<S> {
  readonly services: S;
  readonly caller: Caller;
  readonly #call: Call;

  constructor(services: S, caller: Caller, call: Call) {
    this.services = services;
    this.caller = caller;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get progress(): Context<S>["progress"] {
    return (report) => this.#call.progress?.(report);
  }
}

/** The most problems with parameters that a message names. */
const NAMED_MAX = 10;
/** Most characters in the answers to one batch. */
export const BATCH_ANSWER_MAX = 16 * 1024 * 1024;
/** Characters that suffice for most large answers. */
const LARGE_ANSWER = 4 * 1024 * 1024;

/** Finds and runs verbs for all doors. */
export class Dispatcher {
  readonly verbs: ReadonlyMap<string, Verb>;
  /** Loaded for the first large verb. */
  readonly #room = new Opener(async () => {
    return new (await import("./answer_room.ts")).AnswerRoom();
  });
  readonly #bound: ReadonlyMap<string, BoundVerb>;

  constructor(bound: readonly BoundVerb[]) {
    this.verbs = new Map(bound.map(({ verb }) => [verb.name, verb]));
    this.#bound = new Map(bound.map((it) => [it.verb.name, it]));
  }

  /** See {@linkcode AnswerRoom.enter}. */
  async enterRoom(asking: Asking, reserved = LARGE_ANSWER): Promise<Held> {
    return await (await this.#room.get()).enter(asking, reserved);
  }

  /** Runs a verb. @throws {SvcError} validation for invalid parameters, and the handler's errors */
  async run(verb: Verb, params: unknown, caller: Caller, call: Call): Promise<unknown> {
    return await this.start(verb, params, caller, call);
  }

  /** As {@linkcode Dispatcher.run}, but synchronous where the handler is and the parameters fit. */
  start(verb: Verb, params: unknown, caller: Caller, call: Call): unknown {
    const { handle } = this.#bound.get(verb.name)!;
    if (verb.takes_nothing && isEmpty(params)) return handle({}, caller, call);
    const parsed = verb.input.safeParse(params ?? {});
    if (!parsed.success) return refuse(verb, params);
    return handle(parsed.data, caller, call);
  }
}

/** @throws {InvalidParams} what is wrong with parameters, in words that are loaded for it */
async function refuse({ name, input }: Verb, params: unknown): Promise<never> {
  await import("../protocol/issue_text.ts");
  const { error } = input.safeParse(params ?? {});
  // Of each place the first: zod also measures a list where a text was asked for.
  const places = Map.groupBy(error!.issues, ({ path }) => path.join("\0"));
  const issues = [...places.values()].map(([{ path, message }]) => ({ path, message }));
  throw new InvalidParams(`${name}: ${explain(issues)}`, { issues });
}

function isEmpty(params: unknown): boolean {
  if (params === undefined || params === null) return true;
  return typeof params === "object" && !Array.isArray(params) && Object.keys(params).length === 0;
}

function explain(issues: Pick<z.core.$ZodIssue, "path" | "message">[]): string {
  const named = issues.slice(0, NAMED_MAX)
    .map(({ path, message }) => path.length > 0 ? `${path.join(".")}: ${message}` : message);
  const more = issues.length - named.length;
  return `${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}
