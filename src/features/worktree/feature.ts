import { feature } from "../../verbs/feature.ts";
import { worktreeVerbs } from "./verbs.ts";

export const worktrees = feature({
  name: "worktrees",
  verbs: worktreeVerbs,
  open: ({ hub, paths: { home }, sandbox }) => ({ services: { hub, home, sandbox } }),
});
