/** `[notifications]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";

const live = { restart: false } as const;

export const NOTIFICATIONS = section("notifications", () =>
  z.strictObject({
    desktop: z.boolean().default(false)
      .describe("Whether a desktop notification says that a question waits"),
    command: z.array(z.string().min(1)).max(20).default([])
      .describe("A program with its arguments that gets the question as JSON on standard input"),
    after_s: z.number().min(0).max(86_400).default(30)
      .describe("Seconds that a question waits before you are told of it"),
  }).prefault({}), { desktop: live, after_s: live });

export type NotificationsConfig = NonNullable<
  ReturnType<ReturnType<typeof NOTIFICATIONS.schema>["parse"]>
>;
