/** Calls verbs by name. */
import { SvcError } from "../protocol/errors.ts";
import { type Call, type Caller, type Dispatcher, Prepared } from "./define.ts";
import type { ParamsOf, ResultOf, Verb } from "./verb.ts";

export interface Calling {
  dispatcher: Dispatcher;
  caller: Caller;
  call: Call;
}

/** Runs a verb with unchecked parameters. @throws {SvcError} not_found, and the verb's errors */
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

/** Returns {@linkcode runVerb}, typed for these verbs. */
export function callsOf<V extends Verb>() {
  return async function callVerb<N extends V["name"]>(
    name: N,
    params: ParamsOf<V, N>,
    calling: Calling,
  ): Promise<ResultOf<V, N>> {
    return await runVerb(name, params, calling) as ResultOf<V, N>;
  };
}
