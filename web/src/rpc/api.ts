/**
 * The types of every verb, from their schemas in src/features: nothing of the daemon is in the bundle,
 * and nothing is typed twice.
 */
import type { VerbName } from "../../../src/features/verb_types.ts";

export type { Params, Result, VerbName } from "../../../src/features/verb_types.ts";

const SUBSCRIBE_VERBS = [
  "session.subscribe",
  "lanes.subscribe",
  "bus.tail",
  "task.follow",
  "draft.follow",
] as const satisfies VerbName[];

/** A verb that pushes events. */
export type SubscribeVerb = typeof SUBSCRIBE_VERBS[number];

/** Whether a verb of that name pushes events. */
export function isSubscribeVerb(name: string): name is SubscribeVerb {
  return (SUBSCRIBE_VERBS as readonly string[]).includes(name);
}

/** An event as `$/event` pushes it. */
export interface PushedEvent {
  sub: number;
  session_id?: string;
  seq?: number;
  bus_seq?: number;
  at: string;
  type: string;
  data: unknown;
}

/** Something that is wrong with what a verb was given. */
export interface Issue {
  path: string | readonly (string | number)[];
  message: string;
}

/** What a verb was refused with. */
export class RpcError extends Error {
  override name = "RpcError";
  /** Of the daemon's taxonomy, or `disconnected` when no answer came. */
  readonly code: string;
  /** What to do about it. */
  readonly hint?: string;
  /** What is wrong at which place: of the parameters, or as a text of a parameter's own. */
  readonly issues?: readonly Issue[];
  /** Which one of those that have the code, where it says so. */
  readonly reason?: string;

  constructor(
    code: string,
    message: string,
    hint?: string,
    { issues, reason }: { issues?: readonly Issue[]; reason?: string } = {},
  ) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.issues = issues;
    this.reason = reason;
  }
}

/** The message of whatever was thrown, with what to do about it. */
export function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof RpcError ? error.hint ?? "" : "";
  return (hint === "" ? message : `${message}. ${sentence(hint)}`).replaceAll("`", "");
}

/** With the capital that follows a full stop; what is written as code keeps its letters. */
function sentence(text: string): string {
  const word = /^\p{Ll}+(?=[\s,;:.]|$)/u.test(text);
  const begun = word && !/^svc\b/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
