/** `/export` of a terminal chat: what it writes, and where. */

const EXTENSIONS = { markdown: "md", html: "html", json: "json" } as const;

/** A form of the exported conversation. */
export type ExportFormat = keyof typeof EXTENSIONS;

export interface ExportCommand {
  format: ExportFormat;
  /** Without one, the session's id with the format's ending. */
  file?: string;
}

/** Parses `/export [markdown|html|json] [FILE]`; undefined for other lines. */
export function exportCommand(line: string): ExportCommand | undefined {
  const found = /^\/export(?:\s+(markdown|html|json)(?=\s|$))?(?:\s+(\S[^]*))?$/.exec(line.trim());
  if (found === null) return undefined;
  const [, format = "markdown", file] = found;
  return { format: format as ExportFormat, ...file === undefined ? {} : { file } };
}

/** Returns the name of the file without a directory. */
export function exportedName({ format, file }: ExportCommand, session_id: string): string {
  return file ?? `${session_id}.${EXTENSIONS[format]}`;
}
