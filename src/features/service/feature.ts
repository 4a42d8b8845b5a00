import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import type { DaemonServiceOptions } from "./open.ts";
import { serviceVerbs } from "./verbs.ts";

interface Host extends Omit<DaemonServiceOptions, "hires"> {
  /** The port of the agent routes, if they are served. */
  agent_port(): number | undefined;
}

export const service = feature("service", serviceVerbs, ({ agent_port, ...host }: Host) => {
  const opened = new Opener(async () => {
    const { daemonService } = await import("./open.ts");
    return daemonService({ ...host, hires: () => agent_port() !== undefined });
  });
  return { services: { service: () => opened.get() } };
});
