import * as z from "zod";
import { nothing, verbsOf } from "../../verbs/define.ts";
import type { ServiceServices } from "./open.ts";
import { installedServiceSchema } from "./schemas.ts";

const defineVerb = verbsOf<ServiceServices>();

const status = () => ({
  installed: z.boolean(),
  kind: z.enum(["systemd", "launchd", "windows", "none"])
    .describe("The service manager of this system"),
  unit_path: z.string().optional().describe("Path of the unit file"),
  enabled: z.boolean().optional().describe("Whether the unit starts automatically"),
  running: z.boolean().optional().describe("Whether the daemon is running as this unit"),
  pid: z.int().optional().describe("Process id of the unit's daemon"),
  program: z.string().optional().describe("The binary that the unit runs"),
  current: z.boolean().describe("Whether the unit uses the same binary and home as this daemon"),
  hint: z.string().optional().describe("Suggested actions and notes"),
});

export const serviceVerbs = [
  defineVerb({
    name: "service.status",
    summary: "Shows whether the daemon is installed as a background unit of this user.",
    access: "read",
    input: nothing,
    output: () => z.object(status()),
    handle: async ({ services }) => await (await services.service()).status(),
  }),
  defineVerb({
    name: "service.install",
    summary: "Installs the daemon as a background unit of this user and hands over to it.",
    access: "write",
    idempotent: true,
    input: nothing,
    output: () => z.object({ ...status(), ...installedServiceSchema().shape }),
    handle: async ({ services }) => await (await services.service()).install(),
  }),
  defineVerb({
    name: "service.uninstall",
    summary: "Stops and removes the background unit of this user; all data is kept.",
    access: "write",
    idempotent: true,
    input: nothing,
    output: () => z.object(status()),
    handle: async ({ services }) => await (await services.service()).uninstall(),
  }),
];
