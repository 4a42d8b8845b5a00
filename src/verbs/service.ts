import * as z from "zod";
import { defineVerb } from "./define.ts";

const status = () => ({
  installed: z.boolean(),
  kind: z.enum(["systemd", "launchd", "windows", "none"])
    .describe("What runs background units on this system"),
  unit_path: z.string().optional().describe("Where the unit stands"),
  enabled: z.boolean().optional().describe("Whether it starts by itself"),
  running: z.boolean().optional().describe("Whether a daemon runs as this unit"),
  pid: z.int().optional().describe("Process id of that daemon"),
  program: z.string().optional().describe("The binary that the unit runs"),
  current: z.boolean().describe("The unit runs the binary, and the home, of this daemon"),
  hint: z.string().optional().describe("What is to be done or known"),
});

export const serviceVerbs = [
  defineVerb({
    name: "service.status",
    summary: "Tells whether the daemon is installed as a background unit of this user.",
    access: "read",
    input: () => z.object({}),
    output: () => z.object(status()),
    handle: async ({ services }) => await (await services.service()).status(),
  }),
  defineVerb({
    name: "service.install",
    summary: "Installs the daemon as a background unit of this user, and hands over to it.",
    access: "write",
    idempotent: true,
    input: () => z.object({}),
    output: () =>
      z.object({
        ...status(),
        unit_path: z.string().describe("Where the unit stands"),
        written: z.string().describe("The whole unit"),
        changed: z.boolean().describe("False when the same unit was there already"),
      }),
    handle: async ({ services }) => await (await services.service()).install(),
  }),
  defineVerb({
    name: "service.uninstall",
    summary: "Stops and removes the background unit of this user; all data stays.",
    access: "write",
    idempotent: true,
    input: () => z.object({}),
    output: () => z.object(status()),
    handle: async ({ services }) => await (await services.service()).uninstall(),
  }),
];
