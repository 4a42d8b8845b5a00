/** The hooks as people see them in a list. */
import { exactLine } from "../../base/visible.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import type { Config } from "../../config/config.ts";
import type { Hub } from "../../session/hub.ts";
import { type Hook, HOOKS } from "./config.ts";
import { matchOf, type ProjectHookFiles, type ProjectHooks } from "./project.ts";
import type { HookList } from "./schemas.ts";

/** A directory's hooks, and whether a person trusts it. */
interface OfDirectory {
  found: ProjectHooks;
  trusted: boolean;
}

/** What the list is made from. */
interface ListParts {
  host: { config(): Config; readonly hub: Pick<Hub, "get"> };
  files: { get(): Promise<Pick<ProjectHookFiles, "read">> };
  isTrusted(directory: string, text: string): Promise<boolean>;
}

/** Lists the hooks of daemon.toml and, for a session, those of its directory. */
export async function listHooks(
  { host, files, isTrusted }: ListParts,
  session_id: string | undefined,
): Promise<HookList> {
  const own = host.config().of(HOOKS);
  if (session_id === undefined) return hookList(own);
  const { workdir, trust } = (await host.hub.get(session_id)).state;
  // Hooks of the person's directories are not for work that others hire.
  const found = trust === "trusted" ? (await files.get()).read(workdir) : undefined;
  if (found === undefined) return hookList(own);
  return hookList(own, { found, trusted: await isTrusted(workdir, found.text) });
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
