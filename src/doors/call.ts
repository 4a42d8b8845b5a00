/** Calls a verb by its name, for doors whose protocols have more than calls of verbs. */
import type { Params, Result, VerbName } from "../features/verb_types.ts";
import { SvcError } from "../protocol/errors.ts";
import { type Call, type Caller, type Dispatcher, Prepared } from "../verbs/define.ts";

/** Who calls, and what answers. */
export interface Calling {
  dispatcher: Dispatcher;
  caller: Caller;
  call: Call;
}

/**
 * Runs a verb; what it is given comes from the client and is checked by the dispatcher.
 *
 * @throws {SvcError} not_found when it does not exist, and any error of the verb
 */
export async function runVerb(
  name: string,
  params: unknown,
  { dispatcher, caller, call }: Calling,
): Promise<unknown> {
  const verb = dispatcher.verbs.get(name);
  if (verb === undefined) throw new SvcError("not_found", `there is no ${name}`);
  const result = await dispatcher.run(verb, params, caller, call);
  return result instanceof Prepared ? result.value : result;
}

/** As {@linkcode runVerb}, typed by the verb's name. */
export async function callVerb<N extends VerbName>(
  name: N,
  params: Params<N>,
  calling: Calling,
): Promise<Result<N>> {
  return await runVerb(name, params, calling) as Result<N>;
}
