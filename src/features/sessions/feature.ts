import { realHome } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { permissions } from "../permissions/feature.ts";
import { skills } from "../skills/feature.ts";
import { costVerbs } from "./cost_verbs.ts";
import { historyVerbs } from "./history_verbs.ts";
import { lanesVerbs } from "./lane_verbs.ts";
import { ledgerVerbs } from "./ledger_verbs.ts";
import { sessionVerbs } from "./verbs.ts";

export const sessions = feature({
  name: "sessions",
  verbs: [
    ...sessionVerbs,
    ...historyVerbs,
    ...lanesVerbs,
    ...ledgerVerbs,
    ...costVerbs,
  ],
  open: (host) => {
    const { hub, models, config, units, env, paths, turn_parts: { hidden } } = host;
    const { permissions: rules } = host.use(permissions);
    // Opened after this feature.
    const library = () => host.use(skills).library();
    return {
      services: {
        hub,
        asked: {},
        models,
        config,
        units,
        hidden,
        home: paths.home,
        person_home: realHome(env),
        ledger_key: paths.ledger_key,
        permissions: rules,
        library,
      },
    };
  },
});
