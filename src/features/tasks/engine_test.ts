/** Both engines pass the same tests; what differs on purpose is named here. */
import { granted } from "../../../tests/support/permissions.ts";
import { testTaskEngine } from "../../../tests/support/task_engine_suite.ts";
import { has_restate } from "../../../tests/support/restate.ts";
import { LocalBench, RestateBench } from "../../../tests/support/task_engines.ts";

testTaskEngine({
  name: "local",
  ignore: !granted("read", "write"),
  open: (workers) => LocalBench.open(workers),
  traits: {
    waited_for: "lost",
    waited_for_attempts: 1,
    stuck_keeps_worker: true,
    left_never_starts: true,
    more_workers: true,
    day_s: 0,
  },
});

testTaskEngine({
  name: "restate",
  ignore: !has_restate,
  leaks: "node:http2 keeps a timer for the date header",
  open: (workers) => RestateBench.open(workers),
  traits: {
    worker: `bench/${Deno.pid}`,
    waited_for: "resumed",
    waited_for_attempts: 3,
    stuck_keeps_worker: false,
    left_never_starts: false,
    more_workers: false,
    // It keeps what was spent by the hour.
    day_s: 3_600,
  },
});
