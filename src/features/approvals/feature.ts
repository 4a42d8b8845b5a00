import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { NOTIFICATIONS } from "./config.ts";
import { approvalVerbs } from "./verbs.ts";

/** The questions of all sessions in one queue, and notifications of those that wait. */
export const approvals = feature({
  name: "approvals",
  verbs: approvalVerbs,
  sections: [NOTIFICATIONS],
  open(host) {
    const notifier = new Opener(async () => {
      const { openNotifier } = await import("./notifier.ts");
      return openNotifier(host);
    });
    return {
      services: { hub: host.hub },
      onEvents(session, events) {
        for (const { type, data } of events) {
          if (type !== "approval.requested") continue;
          const { desktop, command } = host.config().of(NOTIFICATIONS);
          if (!desktop && command.length === 0) continue;
          void notifier.get().then((it) => it.waits(session, data.approval_id));
        }
      },
      stop: () => notifier.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
