/** Private files of a daemon's home (contract.md section 1). */
import { checkPrivate } from "../os/files.ts";
import type { HomePaths } from "../os/paths.ts";
import { stateDbFiles } from "../os/state_db_files.ts";

/** Checks modes and owners of a home's existing files. @throws {SvcError} permission_denied */
export function checkPrivateFiles(paths: HomePaths): { state_db_there: boolean } {
  const { discovery, port, page_key, index, config, keys, policy, log, curator_audit } = paths;
  const files = [discovery, port, page_key, index, config, keys, policy, log, curator_audit];
  for (const path of files) {
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
