import { dirname, join } from "@std/path";
import type { Sandbox } from "../../jail/sandbox.ts";
import { exists } from "../../os/files.ts";

interface Owner {
  id: string;
  journal: { path: string };
}

interface Places {
  /** A directory that no command can write. */
  closed: string;
  sandbox(): Promise<Pick<Sandbox, "kind">>;
}

/**
 * Returns the path of a session's store: beside its journal; or in svc's own directory, if commands
 * can write beside the journal, where svc would follow the links that they make. Then also later.
 */
export async function storePath(
  { id, journal }: Owner,
  { closed, sandbox }: Places,
): Promise<string> {
  const own = join(closed, id);
  const { kind } = await sandbox();
  return join(kind === "landlock" || exists(own) ? own : dirname(journal.path), "files.git");
}

/** Reports whether a store is beside its session's journal. */
export function isBeside(dir: string, { journal }: Pick<Owner, "journal">): boolean {
  return dirname(dir) === dirname(journal.path);
}
