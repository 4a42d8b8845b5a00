import { feature } from "../../verbs/feature.ts";
import { UPDATE } from "./config.ts";

export const update = feature({
  name: "update",
  sections: [UPDATE],
  open: () => ({ services: {} }),
});
