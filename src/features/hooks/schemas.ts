import * as z from "zod";
import { HOOK_EVENTS } from "./config.ts";

export const hookListSchema = () =>
  z.object({
    hooks: z.array(z.object({
      on: z.enum(HOOK_EVENTS),
      match: z.string().optional().describe("The calls that it is for; absent for all"),
      command: z.string().describe("What runs, in one line"),
      timeout_s: z.number(),
      file: z.string().describe("Where it stands, such as daemon.toml"),
      runs: z.boolean().describe("False until a person trusts the directory that it is from"),
    })),
    problem: z.string().optional().describe("Why a file of the directory cannot be used"),
  });

export type HookList = z.output<ReturnType<typeof hookListSchema>>;
