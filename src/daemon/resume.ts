/** Resumes work once the sessions are restored. */
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { Hub } from "../session/hub.ts";
import type { OpenFeatures } from "../verbs/feature.ts";

/** Continues cut-off turns and features after `restored`, in the background; logs failures. */
export function resumeAfter(
  restored: Promise<void>,
  hub: Hub,
  { all }: OpenFeatures,
  log: Log,
): void {
  const logged = (what: string) => (error: unknown) =>
    log.error(`cannot resume ${what}`, { error: messageOf(error) });
  restored.catch((error) => log.error("cannot restore the sessions", { error: messageOf(error) }));
  restored.then(() => hub.continueTurns()).catch(() => {});
  for (const { name, resume } of all) {
    if (resume !== undefined) restored.then(() => resume()).catch(logged(name));
  }
}
