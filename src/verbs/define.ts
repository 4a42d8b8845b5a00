/**
 * A verb is one thing that a client can do: its name, its input and output, and its handler. Every
 * door (socket, WebSocket, REST, command line) is derived from the registry of verbs.
 */
import * as z from "zod";
import { InvalidParams, SvcError } from "../protocol/errors.ts";

/** The caller of a verb and its transport. */
export interface Caller {
  /** Name of the transport, for the journal: `socket`, `http`, `websocket`. */
  readonly via: string;
  /** Receives pushed events; absent if the transport cannot push. */
  readonly push?: PushChannel;
}

/** The subscriptions of one connection. */
export interface PushChannel {
  open(make: (deliver: Deliver) => Pushing): number;
  close(sub: number): boolean;
}

/**
 * Returns the channel for a caller's pushed events.
 *
 * @param hint what the caller can use instead.
 * @throws {SvcError} validation if the transport cannot push.
 */
export function pushChannel(caller: Caller, verb: string, hint: string): PushChannel {
  if (caller.push !== undefined) return caller.push;
  throw new SvcError("validation", `${verb}: this transport cannot push events`, { hint });
}

/** A subscription as its connection sees it. */
export interface Pushing {
  start(): Promise<void>;
  close(): void;
}

/** Content of a `$/event` notification; events of the daemon itself have no session and no seq. */
export interface Pushed {
  readonly bus_seq?: number;
  readonly session_id?: string;
  readonly seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

/** Receives the events of a subscription, and its end. */
export interface Deliver {
  event(event: Pushed): void | Promise<void>;
  ended(error: SvcError | undefined): void;
}

/**
 * Something that can be cancelled. It holds the signal instead of being one, because a request's
 * signal is created when it is first read, and that costs as much as answering the request.
 */
export interface Abortable {
  readonly signal: AbortSignal;
}

/** Progress of a call; `progress` grows with every report. */
export interface Progress {
  readonly progress: number;
  /** Value of `progress` at the end, if known. */
  readonly total?: number;
  readonly message?: string;
}

/** One call of a verb, as seen by its door. */
export interface Call extends Abortable {
  /** Receives progress reports; absent if the caller did not ask for them. */
  progress?(progress: Progress): void;
}

/** What a handler can use; `services` is what its feature provides. */
export interface Context<S> extends Abortable {
  readonly services: S;
  readonly caller: Caller;
  /** Reports progress to the caller, if it asked for reports. */
  progress(progress: Progress): void;
}

/** A verb's route in the REST interface (contract.md section 3). */
export interface RestRoute {
  method: "GET" | "POST" | "DELETE";
  /** Under the root, with `:param` for parameters. */
  path: string;
  status: 200 | 201 | 202 | 204;
  /** Parameters that are required in REST but optional elsewhere. */
  required?: readonly string[];
  /** Returns the Location header of the answer. */
  location?(result: never): string;
  /** Needs no token (product.md, Authentication rule 1). */
  public?: boolean;
  /** The TCP peer must belong to this user, if the system can tell (contract.md section 2). */
  same_user?: boolean;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Created on first use, because a starting daemon needs hardly any schema. */
  readonly input: z.ZodType;
  /** Creates the output schema. Documents need it, calls do not. */
  output(): z.ZodType;
  /** Whether it changes anything. */
  readonly access: "read" | "write";
  /** Whether it deletes something that cannot be restored. */
  readonly destructive?: boolean;
  /** Whether repeating the call changes nothing further. */
  readonly idempotent?: boolean;
  /**
   * A legacy tool name: the MCP tool has exactly this name, without the usual prefix, and returns
   * the bare result.
   */
  readonly legacy?: boolean;
  /** For use between parts of svc; not offered to MCP clients. */
  readonly internal?: boolean;
  /** The legacy verb that this one replaces. */
  readonly replaces?: string;
  /**
   * Members of the result that are withheld from MCP clients, because a model reads what they
   * receive.
   */
  readonly secrets?: readonly string[];
  readonly rest?: RestRoute;
}

/** A verb whose handler needs the services `S`. */
export interface VerbOf<S> extends Verb {
  // A property, not a method: the compiler then checks `S` strictly.
  readonly handle: (context: Context<S>, params: unknown) => unknown;
}

interface Definition<I extends z.ZodType, O extends z.ZodType, S>
  extends
    Pick<Verb, "destructive" | "internal" | "idempotent" | "legacy" | "replaces" | "secrets"> {
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

/** A verb with its name, parameters and result as types; the web app's client is typed by it. */
export interface TypedVerb<N extends string, I extends z.ZodType, O extends z.ZodType, S>
  extends VerbOf<S> {
  readonly name: N;
  readonly input: I;
  output(): O;
}

/**
 * Returns a function that defines verbs whose handlers need the services `S`. A handler's parameters
 * and result are typed by the schemas. Schemas are slow to create, so both a verb's own schemas and
 * shared ones are functions.
 */
export function verbsOf<S>() {
  return function defineVerb<const N extends string, I extends z.ZodType, O extends z.ZodType>(
    definition: Definition<I, O, S> & { name: N },
  ): TypedVerb<N, I, O, S> {
    const { input: makeInput, ...rest } = definition;
    let input: I | undefined;
    const verb = {
      ...rest,
      get input() {
        return input ??= makeInput();
      },
    };
    return verb as unknown as TypedVerb<N, I, O, S>;
  };
}

/** A result with cached JSON, for answers that are requested often and seldom change. */
export class Prepared<T> {
  readonly value: T;
  #json: string | undefined;

  constructor(value: T) {
    this.value = value;
  }

  get json(): string {
    return this.#json ??= JSON.stringify(this.value);
  }
}

/** Returns the JSON of a verb's result. */
export function resultJson(result: unknown): string {
  return result instanceof Prepared ? result.json : JSON.stringify(result ?? {});
}

/** A verb together with the services that its handler needs. */
export interface BoundVerb {
  readonly verb: Verb;
  handle(params: unknown, caller: Caller, call: Call): unknown;
}

/** Binds verbs to their services. */
export function bind<S>(verbs: readonly VerbOf<S>[], services: S): BoundVerb[] {
  return verbs.map((verb) => ({
    verb,
    handle(params, caller, call) {
      const context: Context<S> = {
        services,
        caller,
        get signal() {
          return call.signal;
        },
        progress: (report) => call.progress?.(report),
      };
      return verb.handle(context, params);
    },
  }));
}

/** Finds a verb and runs it; every door goes through it. */
export class Dispatcher {
  readonly verbs: ReadonlyMap<string, Verb>;
  readonly #bound: ReadonlyMap<string, BoundVerb>;

  constructor(bound: readonly BoundVerb[]) {
    this.verbs = new Map(bound.map(({ verb }) => [verb.name, verb]));
    this.#bound = new Map(bound.map((it) => [it.verb.name, it]));
  }

  /**
   * Runs a verb.
   *
   * @throws {SvcError} validation for invalid parameters, and any error of the handler.
   */
  async run(verb: Verb, params: unknown, caller: Caller, call: Call): Promise<unknown> {
    return await this.start(verb, params, caller, call);
  }

  /** As {@linkcode Dispatcher.run}; gives the result itself where the handler does. */
  start(verb: Verb, params: unknown, caller: Caller, call: Call): unknown {
    const parsed = verb.input.safeParse(params ?? {});
    if (!parsed.success) {
      throw new InvalidParams(`${verb.name}: ${explain(parsed.error)}`, {
        issues: parsed.error.issues.map(({ path, message }) => ({ path, message })),
      });
    }
    return this.#bound.get(verb.name)!.handle(parsed.data, caller, call);
  }
}

function explain(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => path.length > 0 ? `${path.join(".")}: ${plain(message)}` : message)
    .join("; ");
}

/** What zod says of a parameter, in the words of our other errors. */
function plain(message: string): string {
  const [, expected, received] = message.match(/^Invalid input: (expected .+), (received .+)$/) ??
    [];
  if (expected === undefined) return message;
  return received === "received undefined" ? "is required" : `${expected}, ${received}`;
}
