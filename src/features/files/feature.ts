import { feature } from "../../verbs/feature.ts";
import { filesVerbs } from "./verbs.ts";

/** Looks through the directories of sessions, in the jail of the file tools. */
export const files = feature({
  name: "files",
  verbs: filesVerbs,
  open: ({ hub, paths: { home }, units, scope }) => ({
    services: { hub, home, units, hidden: (workdir) => scope(workdir).hidden },
  }),
});
