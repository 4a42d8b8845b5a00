/** Former names; each works and prints its replacement (product.md, Versioning rule 6). */
import { alias, group } from "../define.ts";

export const agentServe = alias("serve", "--enable-agent-routes");

export const daemon = {
  ...group({ summary: "Deprecated: use `svc serve` and `svc ctl`" }, {
    start: alias("serve"),
    enqueue: alias("ctl", "enqueue"),
    status: alias("ctl", "status"),
    workers: alias("ctl", "workers"),
    pause: alias("ctl", "pause"),
    resume: alias("ctl", "resume"),
    wal: alias("ctl", "wal"),
    tasks: alias("ctl", "tasks"),
  }),
  former: true,
};
