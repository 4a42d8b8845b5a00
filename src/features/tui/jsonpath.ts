import { JSONPathEnvironment, JSONPathError } from "json-p3";
import { SvcError } from "../../protocol/errors.ts";

/**
 * Selects values by an RFC 9535 query, without `match()` and `search()`: a regular expression could
 * block the process for hours.
 *
 * @throws {SvcError} validation for an invalid query.
 */
export function select(query: string, value: unknown): unknown[] {
  const environment = new JSONPathEnvironment();
  for (const name of ["match", "search"]) environment.functionRegister.delete(name);
  try {
    // deno-lint-ignore no-explicit-any -- any plain data will do
    return environment.query(query, value as any).values();
  } catch (error) {
    if (!(error instanceof JSONPathError)) throw error;
    throw new SvcError("validation", `jsonpath: ${error.message}`, {
      hint: 'such as $.lanes[?@.status == "running"].label',
    });
  }
}
