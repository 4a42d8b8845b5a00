import { feature } from "../../verbs/feature.ts";
import { transferVerbs } from "./verbs.ts";

export const transfer = feature({
  name: "transfer",
  verbs: transferVerbs,
  open: ({ hub, models, config, paths: { ledger_key } }) => ({
    services: { hub, models, config, ledger_key },
  }),
});
