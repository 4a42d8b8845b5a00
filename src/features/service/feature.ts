import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { serviceVerbs } from "./verbs.ts";

/** The background unit of this user. */
export const service = feature({
  name: "service",
  verbs: serviceVerbs,
  open({ paths, env, uid, shutdown, ports }) {
    const opened = new Opener(async () => {
      const { daemonService } = await import("./open.ts");
      // Only for hire does a daemon listen beside its own doors.
      return daemonService({ paths, env, uid, shutdown, hires: () => ports().size > 0 });
    });
    return { services: { service: () => opened.get() } };
  },
});
