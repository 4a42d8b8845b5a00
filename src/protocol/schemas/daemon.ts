/** The daemon, its settings and directories. */
import * as z from "zod";

export const discoverySchema = () =>
  z.object({
    pid: z.int(),
    sock: z.string(),
    port: z.int(),
    token: z.string(),
    version: z.string(),
    protocol_version: z.int(),
  });

export const commandPathSchema = () =>
  z.object({
    source: z.string().describe("Where it comes from, in words"),
    added: z.array(z.string()).describe("Directories that only the login shell has"),
    problem: z.string().optional().describe("Why some or all of the login shell's are missing"),
  });

export const directorySchema = () =>
  z.object({
    name: z.string(),
    path: z.string().describe("Absolute path"),
    repository: z.boolean().describe("Whether the directory has a .git of its own"),
  });

export const directoryListingSchema = () =>
  z.object({
    path: z.string().describe("Real path of the directory that is listed"),
    parent: z.string().optional().describe("Absent for a root directory"),
    directories: z.array(directorySchema()).describe("Sorted by name"),
    truncated: z.boolean().describe("Whether there are more directories"),
  });

export const setting_value = () => z.union([z.string().min(1).max(4096), z.number(), z.boolean()]);

export const settingStateSchema = () =>
  z.object({
    value: setting_value().optional().describe("The value with the file as it is now"),
    source: z.enum(["default", "file"]),
    default: setting_value().optional().describe("The value without the file"),
    in_use: setting_value().optional()
      .describe("The value in use, if it differs until the next restart"),
    restart: z.boolean().describe("Whether a new value takes effect only after a restart"),
  });

/** The settings of a file. @param keys those that clients may change */
export const settingsViewSchema = <K extends string>(keys: readonly K[]) =>
  z.object({
    path: z.string(),
    revision: z.string().describe("Identifies the current text of the file"),
    settings: z.partialRecord(z.enum(keys), settingStateSchema()),
  });
