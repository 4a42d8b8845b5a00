/** In characters. */
const ARGS_SHOWN = 100;

/** One line for a call: its tool and target. */
export function callLine(tool: string, args: unknown): string {
  const { command, path, pattern, url, description } = (args ?? {}) as Record<string, unknown>;
  const about = command ?? pattern ?? url ?? path ?? description ?? "";
  const text = String(about).split("\n")[0];
  return `${tool} ${text.length > ARGS_SHOWN ? `${text.slice(0, ARGS_SHOWN)}…` : text}`.trimEnd();
}
