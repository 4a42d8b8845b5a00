/** The table of commands. Each part is loaded when it is used. */
import { on, spec } from "./define.ts";
import type { Command } from "./spec.ts";
import { SUMMARIES } from "./table/summaries.ts";

/** Every command by its name; those without a summary are former names. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  chat: async () => (await import("./table/chat.ts")).chat,
  serve: async () => (await import("./table/serve.ts")).serve,
  open: async () => (await import("./table/chat.ts")).open,
  desktop: async () => (await import("./table/chat.ts")).desktop,
  ctl: async () => (await import("./table/ctl.ts")).ctl,
  "mcp-serve": async () => (await import("./table/chat.ts")).mcpServe,
  acp: async () => (await import("./table/chat.ts")).acp,
  task: async () => (await import("./table/task.ts")).task,
  ledger: async () => (await import("./table/ledger.ts")).ledger,
  login: async () => (await import("./table/models.ts")).login,
  logout: async () => (await import("./table/models.ts")).logout,
  models: async () => (await import("./table/models.ts")).models,
  permissions: async () => (await import("./table/permissions.ts")).permissions,
  doctor: async () => (await import("./table/chat.ts")).doctor,
  update: async () => (await import("./table/update.ts")).update,
  completions: async () => (await import("./table/chat.ts")).completionsOf(wholeTable),
  daemon: async () => (await import("./table/former.ts")).daemon,
  "agent-serve": async () => (await import("./table/former.ts")).agentServe,
};

const SPEC = spec({
  summary: "Host agent sessions on your machine",
  flags: { version: on("Print the versions of svc, Deno and the protocol", { short: "V" }) },
  notes: "`svc <command> --help` shows the options of a command.",
});

/** `svc` itself, with one line for each command. */
export const SVC: Command = {
  spec: SPEC,
  commands: Object.fromEntries(
    Object.entries(SUMMARIES).map(([name, summary]) => [name, { spec: spec({ summary }) }]),
  ),
};

/** Loads the whole table. */
export async function wholeTable(): Promise<Command> {
  const entries = Object.entries(COMMANDS).map(async ([name, load]) => [name, await load()]);
  return { spec: SPEC, commands: Object.fromEntries(await Promise.all(entries)) };
}
