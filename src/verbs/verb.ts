/** What a verb is, and what its handler is given. */
import type * as z from "zod";
import type { SvcError } from "../protocol/errors.ts";

/** The doors, as journals name them. */
export type Via = "socket" | "http" | "websocket" | "mcp" | "tui" | "hire";

/** The caller of a verb and its door. */
export interface Caller {
  readonly via: Via;
  /** The id of the token of who hires; absent without one, and at the person's own doors. */
  readonly key_id?: string;
  /** Receives pushed events; absent if the transport cannot push. */
  readonly push?: PushChannel;
}

/** The subscriptions of one connection. */
export interface PushChannel {
  open(make: (deliver: Deliver) => Pushing): number;
  close(sub: number): boolean;
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
  /** The result is a {@linkcode Content}, and the file is the body of the answer. */
  content?: boolean;
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
  /** Whether it has no parameters: a call without any needs no schema. */
  readonly takes_nothing: boolean;
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
  /** Whether its result can be large: its calls wait for {@linkcode AnswerRoom}. */
  readonly large?: boolean;
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

/** A verb with its name, parameters and result as types; the web app's client is typed by it. */
export interface TypedVerb<N extends string, I extends z.ZodType, O extends z.ZodType, S>
  extends VerbOf<S> {
  readonly name: N;
  readonly input: I;
  output(): O;
}

type Named<V extends Verb, N> = Extract<V, { readonly name: N }>;

/** What the verb of that name takes, among these verbs. */
export type ParamsOf<V extends Verb, N extends V["name"]> = z.input<Named<V, N>["input"]>;

/** What it gives. */
export type ResultOf<V extends Verb, N extends V["name"]> = z.output<
  ReturnType<Named<V, N>["output"]>
>;

/** A verb together with the services that its handler needs. */
export interface BoundVerb {
  readonly verb: Verb;
  handle(params: unknown, caller: Caller, call: Call): unknown;
}
