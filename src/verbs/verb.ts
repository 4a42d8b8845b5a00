/** Types of verbs and their handlers. */
import type * as z from "zod";
import type { SvcError } from "../protocol/errors.ts";

/** Doors, as journals name them. */
export type Via = "socket" | "http" | "websocket" | "mcp" | "tui" | "hire";

export interface Caller {
  readonly via: Via;
  /** Id of the hirer's token, if any. */
  readonly key_id?: string;
  /** Absent if the transport cannot push. */
  readonly push?: PushChannel;
}

/** The subscriptions of one connection. */
export interface PushChannel {
  open(make: (deliver: Deliver) => Pushing): number;
  close(sub: number): boolean;
}

export interface Pushing {
  start(): Promise<void>;
  close(): void;
}

/** Content of a `$/event` notification; the daemon's own events have no session and no seq. */
export interface Pushed {
  readonly bus_seq?: number;
  readonly session_id?: string;
  readonly seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

export interface Deliver {
  event(event: Pushed): void | Promise<void>;
  ended(error: SvcError | undefined): void;
}

/**
 * Something that can be cancelled. It has a signal instead of being one, because a request's signal
 * is created lazily and costs as much as an answer.
 */
export interface Abortable {
  readonly signal: AbortSignal;
}

/** `progress` grows with every report. */
export interface Progress {
  readonly progress: number;
  /** Final value of `progress`, if known. */
  readonly total?: number;
  readonly message?: string;
}

/** A call of a verb, from its door. */
export interface Call extends Abortable {
  /** Absent if the caller did not ask for reports. */
  progress?(progress: Progress): void;
}

/** The context of a handler; its feature provides `services`. */
export interface Context<S> extends Abortable {
  readonly services: S;
  readonly caller: Caller;
  /** Reports progress if the caller asked for it. */
  progress(progress: Progress): void;
}

/** A verb's route in the REST interface (contract.md section 3). */
export interface RestRoute {
  method: "GET" | "POST" | "DELETE";
  /** Under the root, with `:param` for parameters. */
  path: string;
  status: 200 | 201 | 202 | 204;
  /** Parameters required in REST but optional elsewhere. */
  required?: readonly string[];
  /** The result is a {@linkcode Content}; the body is its file. */
  content?: boolean;
  /** Location header of the answer. */
  location?(result: never): string;
  /** Needs no token (product.md, Authentication rule 1). */
  public?: boolean;
  /** The TCP peer must be this user, if the system can tell (contract.md section 2). */
  same_user?: boolean;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Created lazily: a starting daemon needs hardly any schema. */
  readonly input: z.ZodType;
  /** Whether it has no parameters, so that a call needs no schema. */
  readonly takes_nothing: boolean;
  /** Documents need it, calls do not. */
  output(): z.ZodType;
  /** Whether it changes anything. */
  readonly access: "read" | "write";
  /** Whether it deletes something for good. */
  readonly destructive?: boolean;
  /** Whether repeating a call changes nothing. */
  readonly idempotent?: boolean;
  /** A legacy tool name: the MCP tool has this name without prefix, and returns the bare result. */
  readonly legacy?: boolean;
  /** Whether its result can be large: calls wait for {@linkcode AnswerRoom}. */
  readonly large?: boolean;
  /** For parts of svc; not offered to MCP clients. */
  readonly internal?: boolean;
  /** The legacy verb that this one replaces. */
  readonly replaces?: string;
  /** Members of the result withheld from MCP clients, because models read them. */
  readonly secrets?: readonly string[];
  readonly rest?: RestRoute;
}

/** A verb for the services `S`. */
export interface VerbOf<S> extends Verb {
  // A property, not a method: the compiler then checks `S` strictly.
  readonly handle: (context: Context<S>, params: unknown) => unknown;
}

/** A verb with its name, parameters and result as types, for typed clients. */
export interface TypedVerb<N extends string, I extends z.ZodType, O extends z.ZodType, S>
  extends VerbOf<S> {
  readonly name: N;
  readonly input: I;
  output(): O;
}

// By name: it takes the compiler long to compare every verb with a name at every call.
type Inputs<V extends Verb> = { readonly [E in V as E["name"]]: z.input<E["input"]> };
type Outputs<V extends Verb> = {
  readonly [E in V as E["name"]]: z.output<ReturnType<E["output"]>>;
};

export type ParamsOf<V extends Verb, N extends V["name"]> = Inputs<V>[N];

export type ResultOf<V extends Verb, N extends V["name"]> = Outputs<V>[N];

/** A verb bound to its services. */
export interface BoundVerb {
  readonly verb: Verb;
  handle(params: unknown, caller: Caller, call: Call): unknown;
}
