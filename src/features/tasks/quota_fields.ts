import * as z from "zod";

/** What one hirer may use, as in `[hire]` of daemon.toml. */
export const quota_fields = () => ({
  max_queued: z.int().min(1).default(1000)
    .describe("Queued tasks of one token, above which svc refuses more"),
  max_running: z.int().min(1).optional().describe(
    "Running tasks of one token, above which svc starts none for a client that waits; queued " +
      "ones wait for `[tasks] workers`",
  ),
  max_bytes: z.int().min(1).optional()
    .describe("Bytes of the stored requests and artifacts of one token"),
  max_usd_day: z.number().positive().optional().describe(
    "USD that the tasks of one token may have cost in 24 hours before svc refuses more",
  ),
});
