import { Fragment } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { partsByRuns } from "../../../src/base/looks.ts";
import type { Token } from "../../../src/base/highlight/tokens.ts";
import { Code, Coloured } from "../highlight/code.tsx";
import { Icon } from "../ui/icon.tsx";
import { Path } from "../ui/path.tsx";
import { useLoaded } from "../ui/use_loaded.ts";
import { callSubject, fileChanges, fileLanguage, type NamedChange, showsByItself } from "./call.ts";
import type { ToolItem, ToolOutcome } from "../../../src/session/view.ts";
import { outcomeText } from "./item_text.ts";
import {
  goesOn,
  isStopped,
  LiveActions,
  LiveFacts,
  LiveResult,
  LiveTail,
  showsTail,
  worksBeside,
} from "./live_card.tsx";
import { Pictures } from "./pictures.tsx";
import type { SessionStore } from "./store.ts";

interface ToolCardProps {
  item: ToolItem;
  /** Of the item: it changes in place. */
  revision: number;
  store: SessionStore;
}

/** A tool call: what is done to what, and, opened, all of it with its output. */
export function ToolCard({ item, store }: ToolCardProps) {
  const { tool, args, outcome, lane_id, asked } = item;
  const waits = asked?.waits ?? false;
  const beside = worksBeside(item);
  // What waits for an approval is shown in full there.
  const shows = !beside &&
    (showsByItself(tool) || outcome?.ok === false || outcome?.attachments !== undefined);
  const toggled = store.isOpen(item.key);
  const open = toggled ?? (!waits && shows);
  const live = !waits && goesOn(item) && (beside || lane_id !== undefined);
  const tail = beside && live && toggled === undefined && showsTail(store);
  const status = isStopped(item, store) ? "cancelled" : statusOf(item);
  return (
    <div class={`tool ${status}`}>
      <div class="tool-line">
        <button
          type="button"
          class="tool-head"
          aria-expanded={open || tail}
          onClick={() => store.toggle(item.key, !(open || tail))}
        >
          <span class={`dot ${status}`} aria-hidden="true" />
          <span class="tool-name">{tool}</span>
          <code class="tool-subject clip">{callSubject(args).split("\n")[0]}</code>
          <span class="tool-outcome">
            {beside && !waits ? <LiveFacts item={item} store={store} /> : outcomeText(item)}
          </span>
          <Icon name="chevron" />
        </button>
        {(beside || live) && <LiveActions item={item} store={store} />}
      </div>
      {tail && <LiveTail item={item} store={store} />}
      {beside && !open && !tail && <LiveResult item={item} />}
      {open && (
        <div class="tool-body">
          <Arguments call={item} />
          {item.background && <LiveTail item={item} store={store} />}
          <Output
            tool={tool}
            args={args}
            outcome={outcome}
            live={lane_id && store.conversation.lane_output.get(lane_id)}
          />
          <Pictures attachments={outcome?.attachments} store={store} />
          {lane_id && !beside && (
            <a class="tool-lane" href={`/sessions/${store.id}/lanes/${lane_id}`}>Lane</a>
          )}
        </div>
      )}
    </div>
  );
}

function statusOf(item: ToolItem): string {
  const { outcome, asked, background } = item;
  if (background !== undefined && outcome?.ok !== false) {
    if (background.ended === undefined) return "running";
    const { reason, exit_code } = background.ended;
    if (reason !== "exited") return reason === "stopped" ? "cancelled" : "errored";
    return exit_code === 0 ? "done" : "errored";
  }
  if (outcome === undefined) return asked?.waits ? "blocked" : "running";
  return outcome.ok ? "done" : asked?.decision === "deny" ? "cancelled" : "errored";
}

/** Changes are shown file by file, a command as it was written, anything else as JSON. */
export function Arguments({ call }: { call: Pick<ToolItem, "tool" | "args" | "outcome"> }) {
  const { tool, args, outcome } = call;
  const changes = useMemo(() => fileChanges(call), [tool, args, outcome]);
  if (changes.length > 0) return <Changes changes={changes} args={args} />;
  const { command } = (args ?? {}) as { command?: unknown };
  if (typeof command === "string") return <pre class="tool-command"><code>{command}</code></pre>;
  return <Json args={args} />;
}

/** Something in a row has become larger at once: measured now, it moves nothing for a moment. */
export const GROWN = "svc-grown";

const loadDiffView = async () => (await import("./diff_view.tsx")).DiffView;

/** Without the module that draws them, changes are still shown. */
function Changes({ changes, args }: { changes: NamedChange[]; args: unknown }) {
  const { Part: DiffView, failure } = useLoaded(loadDiffView);
  const files = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (DiffView !== undefined) files.current?.dispatchEvent(new Event(GROWN, { bubbles: true }));
  }, [DiffView]);
  if (failure !== undefined) return <Json args={args} />;
  return (
    <div ref={files}>
      {changes.map(({ path, parts, note, in_turn }) => (
        <Fragment key={path}>
          <p class="tool-file">
            <Icon name="file" />
            <Path path={path} />
            {note && <span>{note}</span>}
          </p>
          {DiffView && <DiffView parts={parts} in_turn={in_turn} path={path} />}
        </Fragment>
      ))}
    </div>
  );
}

export function Json({ args }: { args: unknown }) {
  const json = JSON.stringify(args, null, 2) ?? "";
  return json === "{}" ? null : <pre class="tool-command"><code>{json}</code></pre>;
}

/** The tones of highlighted code that have the colours of terminals, by the numbers of those. */
const TONES = [
  undefined,
  "deletion",
  "addition",
  "number",
  "title",
  "keyword",
  "type",
  "comment",
] as const;

/** Output with the colours that its command printed. */
function lookedTokens(text: string, looks: readonly number[]): Token[] {
  return partsByRuns(text, looks).map(({ text, look }) => ({ text, tone: TONES[look % 8] }));
}

interface OutputProps {
  tool: string;
  args: unknown;
  outcome: ToolOutcome | undefined;
  /** What it has said so far. */
  live: string | undefined;
}

function Output({ tool, args, outcome, live }: OutputProps) {
  const text = outcome?.output ?? live ?? "";
  if (text === "") return outcome === undefined ? null : <p class="tool-none">No output</p>;
  return (
    <>
      <pre class="tool-output" tabIndex={0} role="group" aria-label={`Output of ${tool}`}>
        {outcome?.looks === undefined
          ? <Code code={text} language={outcome?.ok ? fileLanguage(tool, args) : undefined} />
          : <Coloured tokens={lookedTokens(text, outcome.looks)} />}
      </pre>
      {outcome?.truncated && <p class="tool-none">Part of the output was left out</p>}
    </>
  );
}
