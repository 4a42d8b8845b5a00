import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { serviceVerbs } from "./verbs.ts";

export const service = feature({
  name: "service",
  verbs: serviceVerbs,
  open({ paths, env, uid, shutdown, ports }) {
    const opened = new Opener(async () => {
      const { daemonService } = await import("./open.ts");
      // A daemon has other ports only for hire.
      return daemonService({ paths, env, uid, shutdown, hires: () => ports().size > 0 });
    });
    return { services: { service: () => opened.get() } };
  },
});
