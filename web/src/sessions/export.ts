import type { ExportFormat } from "../../../src/features/chat_commands/export_command.ts";
import type { App } from "../app.ts";

const FORMATS = { markdown: ["Markdown", "md"], html: ["HTML", "html"], json: ["JSON", "json"] };

/** What a menu offers: the conversation as a file, in each format. */
export function exportItems(app: App, id: string, title: string) {
  const name = title.replaceAll(/[^\p{L}\p{N} ._-]+/gu, " ").trim().slice(0, 80) || id;
  return Object.entries(FORMATS).map(([format, [word, ending]]) => ({
    label: `Export as ${word}`,
    icon: "down" as const,
    run: () => exportAs(app, id, `${name}.${ending}`, format as ExportFormat),
  }));
}

/** Saves a conversation as a file. */
export async function exportAs(
  { client }: App,
  session_id: string,
  download: string,
  format: ExportFormat = "markdown",
): Promise<void> {
  const parts: string[] = [];
  for (let cursor: string | undefined, more = true; more;) {
    const part = await client.ask("session.export", { session_id, format, cursor });
    parts.push(part.content);
    cursor = part.next_cursor;
    more = cursor !== undefined;
  }
  // Of no type: the browser saves it under its name, and opens none.
  const url = URL.createObjectURL(new Blob(parts));
  Object.assign(document.createElement("a"), { href: url, download }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
