import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { NOTIFICATIONS } from "./config.ts";
import { approvalVerbs } from "./verbs.ts";

/** Events that a notification can follow from. */
const NOTICED: ReadonlySet<string> = new Set([
  "approval.requested",
  "turn.started",
  "turn.continued",
  "turn.completed",
]);

/** The questions of all sessions in one queue; notifications of those that wait, and of long turns. */
export const approvals = feature({
  name: "approvals",
  verbs: approvalVerbs,
  sections: [NOTIFICATIONS],
  open(host) {
    const notifier = new Opener(async () => {
      const { openNotifier } = await import("./notifier.ts");
      return openNotifier(host);
    });
    const isOn = () => {
      const { desktop, command } = host.config().of(NOTIFICATIONS);
      return desktop || command.length > 0;
    };
    return {
      services: { hub: host.hub },
      onEvents(session, events) {
        for (const event of events) {
          if (!NOTICED.has(event.type) || !isOn()) continue;
          const now = Date.now();
          void notifier.get().then((it) => it.take(session, event, now));
        }
      },
      // Questions outlive a restart.
      async resume() {
        if (!isOn()) return;
        for (const { id, pending_approvals_count } of await host.hub.list(false)) {
          if (pending_approvals_count === 0) continue;
          const session = await host.hub.get(id);
          const it = await notifier.get();
          for (const { approval_id } of session.state.pending_approvals) {
            it.waits(session, approval_id);
          }
        }
      },
      stop: () => notifier.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
