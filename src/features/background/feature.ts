import { feature } from "../../verbs/feature.ts";
import { backgroundVerbs } from "./verbs.ts";

/** Commands that run beside the calls of their session. */
export const background = feature({
  name: "background",
  verbs: backgroundVerbs,
  open: ({ background, config, hub, sandbox }) => ({
    services: { background, hub },
    tools: async () =>
      (await import("./tools.ts")).backgroundTools({
        background,
        config,
        sandbox,
      }),
    finish: async (grace_ms) => await (await background.opened)?.close(grace_ms),
  }),
});
