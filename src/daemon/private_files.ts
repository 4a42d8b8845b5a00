/** What of a daemon's home is for its owner alone (contract.md section 1). */
import { checkPrivate } from "../os/files.ts";
import type { HomePaths } from "../os/paths.ts";
import { stateDbFiles } from "../os/state_db_files.ts";

/**
 * Looks at the modes and owners of all files and directories of a home that are there.
 *
 * @returns whether there is a database.
 * @throws {SvcError} permission_denied for one that is wider than it may be, foreign or a link.
 */
export function checkPrivateFiles(paths: HomePaths): { state_db_there: boolean } {
  const { discovery, index, config, keys, policy, log, curator_audit } = paths;
  for (const path of [discovery, index, config, keys, policy, log, curator_audit]) {
    checkPrivate(path, 0o600, "file");
  }
  const { journal_links, log_dir, bus, cortex, missions, artifacts } = paths;
  for (const path of [journal_links, log_dir, bus, cortex, missions, artifacts]) {
    checkPrivate(path, 0o700, "dir");
  }
  const [state_db_there] = stateDbFiles(paths.state_db)
    .map((path) => checkPrivate(path, 0o600, "file"));
  return { state_db_there };
}
