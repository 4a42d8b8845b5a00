import { feature } from "../../verbs/feature.ts";
import { UPDATE } from "./config.ts";

/** `svc update`, which needs nothing of a daemon. */
export const update = feature({
  name: "update",
  sections: [UPDATE],
  open: () => ({ services: {} }),
});
