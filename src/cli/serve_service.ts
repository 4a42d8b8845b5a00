/** The background unit of this user. */
import { connectPatiently } from "../client/connect.ts";
import type { HomePaths } from "../os/paths.ts";
import { openService, type Service, type ServiceOptions } from "../features/service/service.ts";
import { type ControlOptions, INTERRUPTED, stopDaemon } from "./serve_control.ts";
import { describeUnit } from "./serve_status.ts";

/** How often to look for a started daemon, some seconds apart. */
const LOOKS = 15;

/**
 * Installs the unit, prints it, and replaces a running daemon with the unit's. Does nothing if the
 * same unit is installed and running.
 *
 * @returns the exit code.
 * @throws {SvcError} as the installation does; timeout if the running daemon does not stop;
 * conflict if it takes tasks for hire; internal if the unit does not start.
 */
export async function install(options: ControlOptions): Promise<number> {
  const { paths, json } = options;
  const { promptSecret } = await import("@std/cli/prompt-secret");
  const askPassword = (account: string) => promptSecret(`Password of ${account}: `);
  const service = await openService({ ...options, askPassword });
  const installed = await service.install();
  const { changed, written, unit_path } = installed;
  if (!json) {
    console.log(changed ? `${unit_path}:\n\n${written}` : `${unit_path} is already up to date`);
  }
  if (changed || !(await service.status()).running) {
    if (await stopDaemon(options) === "interrupted") return INTERRUPTED;
    await startUnit(service, paths);
  }
  const status = await service.status();
  if (json) console.log(JSON.stringify({ ...status, ...installed }, null, 2));
  else console.log(describeUnit(status));
  return 0;
}

/**
 * Stops the unit's daemon and removes the unit; all data stays.
 *
 * @returns the exit code.
 * @throws {SvcError} conflict if the unit is another home's; internal if the service manager fails.
 */
export async function uninstall(options: ControlOptions): Promise<number> {
  const { paths, json } = options;
  const service = await openService(options);
  const before = await service.status();
  await service.remove({ stop: true });
  const status = await service.status();
  if (json) console.log(JSON.stringify(status, null, 2));
  else if (!before.installed) console.log("no background unit is installed");
  else console.log(`removed ${before.unit_path}; the data in ${paths.home} is kept`);
  return 0;
}

/**
 * Starts the unit's daemon, if a unit of this home is installed.
 *
 * @returns whether there is one.
 * @throws {SvcError} internal or not_found if it does not start.
 */
export async function startIfInstalled(options: ServiceOptions): Promise<boolean> {
  const service = await openService(options);
  if (!await service.isInstalled()) return false;
  await startUnit(service, options.paths);
  return true;
}

async function startUnit(service: Service, paths: HomePaths): Promise<void> {
  await service.start();
  (await connectPatiently(paths, () => {}, LOOKS)).close();
}
