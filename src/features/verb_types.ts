/** The types of every verb, from its schemas, for those who call it by its name. */
import type { ParamsOf, ResultOf } from "../verbs/verb.ts";
import type { TYPED_VERBS } from "./registry.ts";

export type TypedVerbs = typeof TYPED_VERBS[number];

/** The name of a verb. */
export type VerbName = TypedVerbs["name"];

/** What a verb takes. */
export type Params<N extends VerbName> = ParamsOf<TypedVerbs, N>;

/** What a verb gives. */
export type Result<N extends VerbName> = ResultOf<TypedVerbs, N>;

/** What it is called with: nothing where it needs nothing. */
export type Args<N extends VerbName> = Record<never, never> extends Params<N> ? [params?: Params<N>]
  : [params: Params<N>];

/** Calls a verb by its name. */
export type CallVerb = <N extends VerbName>(
  method: N,
  params: Params<N>,
) => Promise<Result<N>>;
