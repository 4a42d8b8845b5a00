import { useMemo } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { useApp } from "../app.ts";
import { Code } from "../highlight/code.tsx";
import { languageOf } from "../highlight/languages.ts";
import { Markdown } from "../ui/markdown.tsx";
import type { Block } from "./blocks.ts";
import type { Row } from "./rows.ts";
import type { SessionStore } from "./store.ts";
import { ToolCard } from "./tool_card.tsx";

interface RowProps {
  row: Row;
  /** Of the row's item: what has not changed is not drawn again. */
  revision: number;
  store: SessionStore;
}

/** One row of the transcript; it is drawn again when what it shows has changed. */
export function RowView({ row, revision, store }: RowProps) {
  const shown = row.kind === "block" ? [row.block, row.first] : [row, revision];
  return useMemo(() => <RowBody row={row} revision={revision} store={store} />, shown);
}

function RowBody({ row, revision, store }: RowProps) {
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
}

function BlockView({ block }: { block: Block }) {
  return block.kind === "code" ? <CodeBlock {...block} /> : <Markdown text={block.raw} />;
}

function CodeBlock({ language, code, closed }: Extract<Block, { kind: "code" }>) {
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
      <pre>
        <code>
          <Code code={code} language={closed ? languageOf(language) : undefined} />
        </code>
      </pre>
    </figure>
  );
}
