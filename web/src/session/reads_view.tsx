import { Icon } from "../ui/icon.tsx";
import { failuresText, readsText } from "./reads.ts";
import type { ReadsRow } from "./rows.ts";
import type { SessionStore } from "./store.ts";
import { ToolCard } from "./tool_card.tsx";

interface ReadsProps {
  row: ReadsRow;
  /** Of the row: its items change in place. */
  revision: number;
  store: SessionStore;
}

/** Calls that only read: one line, and opened, each of them. */
export function Reads({ row: { key, items }, store }: ReadsProps) {
  const open = store.isOpen(key) ?? false;
  const runs = items.some(({ outcome }) => outcome === undefined);
  return (
    <div class="reads">
      <button
        type="button"
        class="reads-head"
        aria-expanded={open}
        onClick={() => store.toggle(key, !open)}
      >
        <span class={`dot ${runs ? "running" : "done"}`} aria-hidden="true" />
        <span>{readsText(items)}</span>
        <span class="reads-failed">{failuresText(items)}</span>
        <Icon name="chevron" />
      </button>
      {open &&
        items.map((item) => (
          <ToolCard key={item.key} item={item} revision={item.revision} store={store} />
        ))}
    </div>
  );
}
