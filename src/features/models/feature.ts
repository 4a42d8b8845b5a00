import { feature } from "../../verbs/feature.ts";
import { modelVerbs } from "./verbs.ts";

/** The models that can be used. */
export const models = feature({
  name: "models",
  verbs: modelVerbs,
  open: ({ models, config }) => ({ services: { models, config } }),
});
