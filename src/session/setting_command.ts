/** The lines of a chat that show or change a setting of its session. */

/** `/model`, `/approval` or `/rename` with what follows it; without a value, it shows the setting. */
export interface SettingCommand {
  setting: "model" | "approval" | "title";
  value: string;
}

/** Calls a verb of the daemon. */
// deno-lint-ignore no-explicit-any -- the caller knows the verb's result
type CallVerb = (method: string, params: Record<string, unknown>) => Promise<any>;

const SETTINGS = { model: "model", approval: "approval", rename: "title" } as const;
/** How many models are listed; a router has hundreds. */
const MODELS_SHOWN = 40;

/** Reads a line that was typed; undefined when it is another one. */
export function settingCommand(line: string): SettingCommand | undefined {
  const found = /^\/(model|approval|rename)(?:\s+(\S[^]*))?$/.exec(line.trim());
  if (found === null) return undefined;
  return { setting: SETTINGS[found[1] as keyof typeof SETTINGS], value: found[2] ?? "" };
}

/**
 * Carries it out.
 *
 * @returns what to tell the person; undefined when the event of the change tells it.
 * @throws {SvcError} as `session.configure`.
 */
export async function runSetting(
  { setting, value }: SettingCommand,
  session_id: string,
  call: CallVerb,
): Promise<string | undefined> {
  if (value !== "") {
    const done = await call("session.configure", { session_id, [setting]: value });
    return done.changed ? undefined : `${setting} is ${done[setting]} already`;
  }
  const session = await call("session.get", { session_id });
  const now = `${setting}: ${session[setting]}`;
  if (setting === "title") return `${now}\n/rename TITLE changes it`;
  if (setting === "approval") return `${now}\n/approval auto, ask or read_only changes it`;
  const { models } = await call("models.list", {});
  const ids = models.map(({ id }: { id: string }) => `  ${id}`);
  const more = ids.length - MODELS_SHOWN;
  return [
    `${now}; /model NAME changes it`,
    ...ids.slice(0, MODELS_SHOWN),
    ...(more > 0 ? [`  and ${more} more; \`svc models\` lists them`] : []),
  ].join("\n");
}
