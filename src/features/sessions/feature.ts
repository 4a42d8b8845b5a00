import { feature } from "../../verbs/feature.ts";
import { costVerbs } from "./cost_verbs.ts";
import { historyVerbs } from "./history_verbs.ts";
import { lanesVerbs } from "./lane_verbs.ts";
import { ledgerVerbs } from "./ledger_verbs.ts";
import { sessionVerbs } from "./verbs.ts";

export const sessions = feature({
  name: "sessions",
  verbs: [...sessionVerbs, ...historyVerbs, ...lanesVerbs, ...ledgerVerbs, ...costVerbs],
  open: ({ hub, models, config }) => ({ services: { hub, models, config } }),
});
