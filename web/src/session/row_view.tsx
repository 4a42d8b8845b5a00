import { memo } from "preact/compat";
import { useMemo } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { useApp } from "../app.ts";
import type { Block } from "./blocks.ts";
import { toHtml } from "./markdown.ts";
import type { Row } from "./rows.ts";
import type { SessionStore } from "./store.ts";
import { ToolCard } from "./tool_card.tsx";

interface RowProps {
  row: Row;
  /** Of the row's item: what has not changed is not drawn again. */
  revision: number;
  store: SessionStore;
}

/** One row of the transcript. */
export const RowView = memo(function RowView({ row, revision, store }: RowProps) {
  if (row.kind === "block") {
    return (
      <div class={row.first ? "said first" : "said"} data-role="assistant">
        <BlockView block={row.block} />
      </div>
    );
  }
  const { item } = row;
  switch (item.kind) {
    case "user":
      return (
        <div class="asked" data-role="user">
          <span class="visually-hidden">You:</span>
          <p>{item.text}</p>
        </div>
      );
    case "tool":
      return <ToolCard item={item} revision={revision} store={store} />;
    case "note":
      return <p class={`note ${item.tone}`} data-role="note">{item.text}</p>;
  }
}, (before, after) => {
  if (before.row.kind === "block" && after.row.kind === "block") {
    return before.row.block === after.row.block && before.row.first === after.row.first;
  }
  return before.row === after.row && before.revision === after.revision;
});

function BlockView({ block }: { block: Block }) {
  return block.kind === "code"
    ? <CodeBlock language={block.language} code={block.code} />
    : <Markdown text={block.raw} />;
}

function Markdown({ text }: { text: string }) {
  const html = useMemo(() => toHtml(text), [text]);
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}

function CodeBlock({ language, code }: { language: string; code: string }) {
  const { announcer } = useApp();
  const copy = async () => {
    await navigator.clipboard.writeText(code);
    announcer.say("Copied");
  };
  return (
    <figure class="code">
      <figcaption>
        <span>{language || "text"}</span>
        <Button tone="quiet" label="Copy code" onClick={copy}>Copy</Button>
      </figcaption>
      <pre><code>{code}</code></pre>
    </figure>
  );
}
