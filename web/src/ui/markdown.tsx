import { useMemo } from "preact/hooks";
import { toHtml } from "../session/markdown.ts";

/** What a model or a tool wrote, as harmless HTML. */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => toHtml(text), [text]);
  return <div class="markdown" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />;
}
