/**
 * A verb is one thing that a client can do: its name, what it takes and gives, and how it is done.
 * Every door (socket, WebSocket, REST, command line) is derived from the registry of verbs.
 */
import * as z from "zod";
import { InvalidParams, SvcError } from "../platform/errors.ts";
import type { Services } from "./services.ts";

/** Who calls, and over what. */
export interface Caller {
  /** For the record: `socket`, `http`, `websocket`. */
  readonly via: string;
  /** Where pushed events go; absent where the transport cannot push. */
  readonly push?: PushChannel;
}

/** The subscriptions of one connection. */
export interface PushChannel {
  open(make: (deliver: Deliver) => Pushing): number;
  close(sub: number): boolean;
}

/**
 * Where a caller's pushed events go.
 *
 * @param hint what to use instead.
 * @throws {SvcError} validation when its transport cannot push.
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

/** What a `$/event` notification tells; what the daemon itself reports has no session and no seq. */
export interface Pushed {
  readonly bus_seq?: number;
  readonly session_id?: string;
  readonly seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

/** Takes an event for a subscription, and is told when it ends. */
export interface Deliver {
  event(event: Pushed): void | Promise<void>;
  ended(error: SvcError | undefined): void;
}

/**
 * Something that can be called off. An object with the signal, not the signal itself: a request's is
 * made when it is first looked at, and that costs as much as answering it.
 */
export interface Abortable {
  readonly signal: AbortSignal;
}

/** How far a call has come; `progress` grows with every report. */
export interface Progress {
  readonly progress: number;
  /** What `progress` will be at the end, where that is known. */
  readonly total?: number;
  readonly message?: string;
}

/** One call of a verb, as its door sees it. */
export interface Call extends Abortable {
  /** Takes reports of progress; absent where nobody asked for them. */
  progress?(progress: Progress): void;
}

/** What a handler works with. */
export interface Context extends Abortable {
  readonly services: Services;
  readonly caller: Caller;
  /** Tells the caller how far the work is, if it wants to know. */
  progress(progress: Progress): void;
}

/** Where a verb stands in the REST interface (contract.md section 3). */
export interface RestRoute {
  method: "GET" | "POST" | "DELETE";
  /** Under the root, with `:param` for parameters. */
  path: string;
  status: 200 | 201 | 202 | 204;
  /** Parameters that REST requires though other doors do not. */
  required?: readonly string[];
  /** The Location header of an answer. */
  location?(result: never): string;
  /** No token is needed (product.md, Authentication rule 1). */
  public?: boolean;
  /** The TCP peer must be this user, where the system can tell (contract.md section 2). */
  same_user?: boolean;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Made at its first use: a daemon that starts has need of hardly any. */
  readonly input: z.ZodType;
  /** Made when it is asked for: documents need it, calls do not. */
  output(): z.ZodType;
  /** Whether it changes anything. */
  readonly access: "read" | "write";
  /** It takes away something that cannot be had back. */
  readonly destructive?: boolean;
  /** The same call again changes nothing more. */
  readonly idempotent?: boolean;
  /**
   * A tool name of the time before: the MCP tool is called just this, without the prefix of the
   * others, and answers the bare result.
   */
  readonly legacy?: boolean;
  /** Spoken between parts of svc; MCP clients are not offered it. */
  readonly internal?: boolean;
  /** The legacy verb that this one takes the place of. */
  readonly replaces?: string;
  /** Members of the result that no MCP client is told: what it hears, a model reads. */
  readonly secrets?: readonly string[];
  readonly rest?: RestRoute;
  handle(context: Context, params: unknown): unknown;
}

interface Definition<I extends z.ZodType, O extends z.ZodType>
  extends
    Pick<Verb, "destructive" | "internal" | "idempotent" | "legacy" | "replaces" | "secrets"> {
  name: string;
  summary: string;
  input: () => I;
  output: () => O;
  access: "read" | "write";
  rest?: Omit<RestRoute, "location"> & { location?(result: z.output<O>): string };
  handle(
    context: Context,
    params: z.output<I>,
  ): z.output<O> | Prepared<z.output<O>> | Promise<z.output<O> | Prepared<z.output<O>>>;
}

/** A verb whose name, parameters and result are known as types: the web app's client has them from it. */
export interface TypedVerb<N extends string, I extends z.ZodType, O extends z.ZodType>
  extends Verb {
  readonly name: N;
  readonly input: I;
  output(): O;
}

/**
 * Defines a verb; its handler's parameters and result are typed by the schemas. Schemas are slow to
 * make: a verb's own are made by functions, and so is what several verbs share.
 */
export function defineVerb<const N extends string, I extends z.ZodType, O extends z.ZodType>(
  definition: Definition<I, O> & { name: N },
): TypedVerb<N, I, O> {
  const { input: makeInput, ...rest } = definition;
  let input: I | undefined;
  const verb = {
    ...rest,
    get input() {
      return input ??= makeInput();
    },
  };
  return verb as unknown as TypedVerb<N, I, O>;
}

/** A result whose JSON is at hand already, for answers that are asked for often and seldom change. */
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

/** The JSON of a verb's result. */
export function resultJson(result: unknown): string {
  return result instanceof Prepared ? result.json : JSON.stringify(result ?? {});
}

/**
 * Finds a verb and runs it: the one way in for every door.
 */
export class Dispatcher {
  readonly verbs: ReadonlyMap<string, Verb>;
  readonly services: Services;

  constructor(verbs: readonly Verb[], services: Services) {
    this.verbs = new Map(verbs.map((verb) => [verb.name, verb]));
    this.services = services;
  }

  /**
   * Runs a verb.
   *
   * @throws {SvcError} validation for parameters that do not fit, and what the handler throws.
   */
  async run(verb: Verb, params: unknown, caller: Caller, call: Call): Promise<unknown> {
    const parsed = verb.input.safeParse(params ?? {});
    if (!parsed.success) {
      throw new InvalidParams(`${verb.name}: ${explain(parsed.error)}`, {
        issues: parsed.error.issues.map(({ path, message }) => ({ path, message })),
      });
    }
    const { services } = this;
    const context: Context = {
      services,
      caller,
      get signal() {
        return call.signal;
      },
      progress: (report) => call.progress?.(report),
    };
    return await verb.handle(context, parsed.data);
  }
}

function explain(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => path.length > 0 ? `${path.join(".")}: ${message}` : message)
    .join("; ");
}
