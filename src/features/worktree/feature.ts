import { messageOf } from "../../protocol/errors.ts";
import { feature } from "../../verbs/feature.ts";
import { worktreeVerbs } from "./verbs.ts";

export const worktrees = feature({
  name: "worktrees",
  verbs: worktreeVerbs,
  open: ({ hub, paths: { home }, sandbox, log, scope }) => ({
    services: { hub, home, sandbox, hidden: (workdir) => scope(workdir).hidden },
    onMoved(session_id) {
      const followed = async () => {
        const { followMoved } = await import("./moved.ts");
        await followMoved((await hub.get(session_id)).state.workdir, sandbox);
      };
      followed().catch((error) =>
        log.warn("cannot repair the worktrees of a directory", {
          session_id,
          error: messageOf(error),
        })
      );
    },
  }),
});
