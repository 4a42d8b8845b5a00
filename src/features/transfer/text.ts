/** A conversation as Markdown or HTML. */
import { callLine } from "../../base/call_line.ts";
import { visible, visibleLine } from "../../base/visible.ts";
import type { Message } from "../../models/model.ts";
import { type Attachment, MEDIA_TYPES } from "../../protocol/attachments.ts";
import type { DiffRow, FileDiff } from "../../session/diff_rows.ts";

interface Heading {
  title: string;
  session_id: string;
  workdir: string;
  model: string;
  started_at: string;
}

/** Undefined for a missing file. */
type ReadAttachment = (attachment: Attachment) => Uint8Array | undefined;

export interface Format {
  begin(heading: Heading): string;
  /** @param diffs what each result's call changed in files */
  message(message: Message, read: ReadAttachment, diffs?: readonly FileDiff[][]): string;
  end(): string;
}

const HEADINGS = { user: "You", assistant: "Agent", tool: "Tools" } as const;

function nameOf(message: Message): string {
  return message.role === "user" && message.notice ? "svc" : HEADINGS[message.role];
}

function rowsOf({ session_id, workdir, model, started_at }: Heading): [string, string][] {
  return [
    ["Session", visibleLine(session_id)],
    ["Directory", visibleLine(workdir)],
    ["Model", visibleLine(model)],
    ["Started", visibleLine(started_at)],
  ];
}

export const MARKDOWN: Format = {
  begin: (heading) =>
    [
      `# ${visibleLine(heading.title)}`,
      "",
      ...rowsOf(heading).map(([name, value]) => `- ${name}: ${codeSpan(value)}`),
      "",
    ].join("\n"),
  message(message, _read, diffs = []) {
    const parts = [`\n## ${nameOf(message)}\n`];
    if (message.role === "tool") {
      for (const [n, { tool, ok, output }] of message.results.entries()) {
        parts.push(`${codeSpan(visibleLine(tool))}${ok ? "" : " failed"}:\n`);
        parts.push(`${fenced(visible(output))}\n`);
        for (const { path, sum, rows } of diffs[n] ?? []) {
          parts.push(`${codeSpan(visibleLine(path))} ${sum}\n`);
          if (rows.length > 0) parts.push(`${fenced(rows.map(rowText).join("\n"), "diff")}\n`);
        }
      }
      return parts.join("\n");
    }
    if (message.text !== "") parts.push(`${visible(message.text)}\n`);
    if (message.role === "assistant") {
      for (const { tool, args } of message.calls) {
        parts.push(`${codeSpan(visibleLine(callLine(tool, args)))}\n`);
      }
    } else {
      for (const { name } of message.attachments ?? []) {
        parts.push(`Attached: ${codeSpan(visibleLine(name))}\n`);
      }
    }
    return parts.join("\n");
  },
  end: () => "",
};

/** Longer than any fence in the text. */
function fenced(text: string, language = ""): string {
  const fence = "`".repeat(Math.max(3, 1 + longestRun(text)));
  return `${fence}${language}\n${text}\n${fence}`;
}

function rowText({ mark, text }: DiffRow): string {
  return mark === "⋮" ? `⋮ ${text}`.trimEnd() : mark + text;
}

function codeSpan(text: string): string {
  const fence = "`".repeat(1 + longestRun(text));
  const edge = /^`|`$/.test(text) ? " " : "";
  return `${fence}${edge}${text}${edge}${fence}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0);
}

const STYLE =
  `body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;
color:#1a1a1a;background:#fff}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;
padding:.5rem .75rem;border-radius:6px}.text{font:inherit;background:none;padding:0}
ins,del{text-decoration:none;background:#dff5e3}del{background:#fbe3e4}img{max-width:100%}h2{font-size:1rem;border-top:1px solid #ddd;padding-top:1rem}
@media(prefers-color-scheme:dark){body{color:#eee;background:#16181d}pre{background:#23262d}
ins{background:#173a22}del{background:#4a1d20}}`
    .replaceAll("\n", "");

export const HTML: Format = {
  begin(heading) {
    const title = escaped(visibleLine(heading.title));
    return [
      '<!doctype html><html lang="en"><head><meta charset="utf-8">',
      `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; ` +
      `style-src 'unsafe-inline'">`,
      '<meta name="viewport" content="width=device-width">',
      `<title>${title}</title><style>${STYLE}</style></head><body><main>`,
      `<h1 dir="auto">${title}</h1><ul>`,
      ...rowsOf(heading).map(([name, value]) => `<li>${name}: <code>${escaped(value)}</code></li>`),
      "</ul>\n",
    ].join("\n");
  },
  message(message, read, diffs = []) {
    const parts = [`<section><h2>${nameOf(message)}</h2>`];
    if (message.role === "tool") {
      for (const [n, { tool, ok, output, attachments }] of message.results.entries()) {
        parts.push(`<p><code>${escaped(visibleLine(tool))}</code>${ok ? "" : " failed"}:</p>`);
        parts.push(
          `<pre dir="auto">${escaped(visible(output))}</pre>`,
          ...pictures(attachments, read),
          ...(diffs[n] ?? []).flatMap(htmlDiff),
        );
      }
    } else {
      if (message.text !== "") {
        parts.push(`<pre class="text" dir="auto">${escaped(visible(message.text))}</pre>`);
      }
      if (message.role === "user") parts.push(...pictures(message.attachments, read));
      else {
        for (const { tool, args } of message.calls) {
          parts.push(`<p><code>${escaped(visibleLine(callLine(tool, args)))}</code></p>`);
        }
      }
    }
    return `${parts.join("\n")}</section>\n`;
  },
  end: () => "</main></body></html>\n",
};

function htmlDiff({ path, sum, rows }: FileDiff): string[] {
  const about = `<p><code>${escaped(visibleLine(path))}</code> ${escaped(sum)}</p>`;
  const lines = rows.map((row) => {
    const text = escaped(rowText(row));
    return row.mark === "+" ? `<ins>${text}</ins>` : row.mark === "-" ? `<del>${text}</del>` : text;
  });
  return lines.length === 0 ? [about] : [about, `<pre>${lines.join("\n")}</pre>`];
}

function pictures(attachments: readonly Attachment[] = [], read: ReadAttachment): string[] {
  return attachments.map((attachment) => {
    const { media_type, name } = attachment;
    const image = MEDIA_TYPES.includes(media_type) && media_type.startsWith("image/");
    const data = image ? read(attachment) : undefined;
    const text = escaped(visibleLine(name));
    if (data === undefined) return `<p>Attached: <code>${text}</code></p>`;
    return `<p><img alt="${text}" src="data:${media_type};base64,${data.toBase64()}"></p>`;
  });
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char]);
}
