/** `[notifications]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";

const live = { restart: false } as const;

export const NOTIFICATIONS = section("notifications", () =>
  z.strictObject({
    desktop: z.boolean().default(false)
      .describe(
        "Whether a desktop notification says that a question waits or a long turn has ended",
      ),
    command: z.array(z.string().min(1)).max(20).default([])
      .describe("A program with its arguments that gets the same as JSON on standard input"),
    after_s: z.number().min(0).max(86_400).default(30)
      .describe("Seconds that a question waits before you are told of it"),
    turn_s: z.number().min(0).max(86_400).default(60)
      .describe("Seconds after which the end of a turn is told; a turn that you cancel is not"),
  }).prefault({}), { desktop: live, after_s: live, turn_s: live });

export type NotificationsConfig = NonNullable<
  ReturnType<ReturnType<typeof NOTIFICATIONS.schema>["parse"]>
>;
