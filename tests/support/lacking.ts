/** What test files need and this machine, or this run, does not have; `tests/run.ts` lists it. */
import { granted } from "./permissions.ts";

/** Names the file that a run's lacks are noted in, a line each: test file, tab, what it lacks. */
export const LACKING_FILE_ENV = "SVC_TEST_LACKING";

/** Hands on whether something is there; where it is not, notes that the test file lacks it. */
export function noted(there: boolean, what: string): boolean {
  if (!there && granted("env", "read", "write")) {
    const path = Deno.env.get(LACKING_FILE_ENV);
    if (path) Deno.writeTextFileSync(path, `${Deno.mainModule}\t${what}\n`, { append: true });
  }
  return there;
}
