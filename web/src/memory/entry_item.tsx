import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { Path } from "../ui/path.tsx";
import { Ago } from "../ui/time.tsx";
import { CATEGORIES, type Entry, SCOPES, scopeWord } from "./entry.ts";

interface EntryProps {
  entry: Entry;
  /** Where its last audited write came from. */
  source: string | undefined;
  onEdit(): void;
  onForget(): void;
}

/** One thing that is remembered. */
export function EntryItem({ entry, source, onEdit, onForget }: EntryProps) {
  const { content, category, scope, tags, updated_at } = entry;
  return (
    <li class="entry">
      <p class="entry-content" dir="auto">{content}</p>
      <p class="facts">
        <span class={`badge ${category}`}>{CATEGORIES[category]}</span>
        <span title={SCOPES[scope]}>{scopeWord(scope)}</span>
        <Owner entry={entry} />
        {tags.map((tag) => <span key={tag} class="tag">#{tag}</span>)}
        {source !== undefined && <span class="clip" title={source}>{sourceText(source)}</span>}
        <span>
          <Ago at={updated_at} />
        </span>
      </p>
      <div class="entry-actions">
        <Button label={`Edit: ${content}`} icon="edit" tone="quiet" onClick={onEdit} />
        <Button label={`Forget: ${content}`} icon="trash" tone="quiet" onClick={onForget} />
      </div>
    </li>
  );
}

function Owner({ entry: { scope, owner } }: { entry: Entry }) {
  const { sessions } = useApp();
  if (scope === "Worker") {
    return <Path path={owner} />;
  }
  if (scope !== "Session") return null;
  const title = sessions.items.value?.find((it) => it.id === owner)?.title ?? owner;
  return <a class="clip" href={`/sessions/${owner}`}>{title}</a>;
}

/** Who wrote it, for which message; what has no audit record was written by a client. */
export function sourceText(source: string): string {
  return source === "edited" ? "edited" : "saved automatically";
}
