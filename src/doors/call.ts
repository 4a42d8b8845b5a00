/** Typed calls of verbs by name. */
import type { TypedVerbs } from "../features/verb_types.ts";
import { callsOf } from "../verbs/call.ts";

export { type Calling, runVerb } from "../verbs/call.ts";

export const callVerb = callsOf<TypedVerbs>();
