/** The hooks as people see them in a list. */
import { exactLine } from "../../base/visible.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import type { Hook } from "./config.ts";
import { matchOf, type ProjectHooks } from "./project.ts";
import type { HookList } from "./schemas.ts";

/** A directory's hooks, and whether a person trusts it. */
interface OfDirectory {
  found: ProjectHooks;
  trusted: boolean;
}

/** Lists the hooks of a directory, then those of daemon.toml: in the order in which they run. */
export function hookList(own: readonly Hook[], of_directory?: OfDirectory): HookList {
  const { found, trusted = false } = of_directory ?? {};
  const theirs = (found?.hooks ?? []).map((hook) => {
    const { on, line, timeout_s, file } = hook;
    const match = matchOf(hook);
    const command = exactLine(line);
    return { on, match: match && exactLine(match), command, timeout_s, file, runs: trusted };
  });
  const operators = own.map(({ on, match, command, timeout_s }) => {
    const line = exactLine(command.map(shellQuote).join(" "));
    return { on, match, command: line, timeout_s, file: "daemon.toml", runs: true };
  });
  return { hooks: [...theirs, ...operators], problem: found?.problem };
}
