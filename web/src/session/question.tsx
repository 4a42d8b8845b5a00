/** What a person is asked to allow: all of it, and nothing in it that looks like something else. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exact, exactLine } from "../../../src/base/visible.ts";
import type { Question } from "../../../src/session/question.ts";
import { useLoaded } from "../ui/use_loaded.ts";
import { type FileChange, fileChange } from "./call.ts";

interface QuestionBodyProps {
  question: Question;
  /** Called once all of it has been in sight, from its beginning to its end. */
  onRead(): void;
}

/** The question; where it is too long for its place it has to be scrolled through. */
export function QuestionBody({ question, onRead }: QuestionBodyProps) {
  const { tool, args, reason } = question;
  const change = fileChange(tool, args);
  const [drawn, setDrawn] = useState(change === undefined);
  const [begun, markBegin] = useSeen(true);
  const [ended, markEnd] = useSeen(drawn);
  useEffect(() => {
    if (begun && ended) onRead();
  }, [begun, ended]);
  return (
    <div class="approval-body">
      <span ref={markBegin} class="approval-mark" />
      <p class="approval-reason">{exactLine(reason)}</p>
      {change === undefined
        ? <Words args={args} />
        : <Change change={change} args={args} onDrawn={() => setDrawn(true)} />}
      <span ref={markEnd} class="approval-mark" />
    </div>
  );
}

/** Whether an element has been in sight. @param from when it counts. */
function useSeen(from: boolean): [boolean, RefObject<HTMLSpanElement>] {
  const mark = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!from || seen || mark.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [from, seen]);
  return [seen, mark];
}

/** A command as it was written, and everything else as JSON. */
function Words({ args }: { args: unknown }) {
  const { command, ...rest } = (args ?? {}) as Record<string, unknown>;
  if (typeof command !== "string") return <Json value={args} />;
  return (
    <>
      <pre class="tool-command"><code>{exact(command)}</code></pre>
      <Json value={rest} />
    </>
  );
}

const loadDiffView = async () => (await import("./diff_view.tsx")).DiffView;

interface ChangeProps {
  change: FileChange;
  args: unknown;
  onDrawn(): void;
}

/** A change of a file, line by line, with what else was said of it. */
function Change({ change, args, onDrawn }: ChangeProps) {
  const { Part: DiffView, failure } = useLoaded(loadDiffView);
  const { path, old_text: _, new_text: __, content: ___, ...rest } = args as Record<
    string,
    unknown
  >;
  useEffect(() => {
    if (failure !== undefined) onDrawn();
  }, [failure]);
  // Without the module that draws it, it is shown all the same.
  if (failure !== undefined) return <Json value={args} />;
  return (
    <>
      <p class="approval-reason mono">{exactLine(String(path))}</p>
      {DiffView && (
        <DiffView
          before={exact(change.before)}
          after={exact(change.after)}
          path={exactLine(String(path))}
          onWhole={onDrawn}
        />
      )}
      <Json value={rest} />
    </>
  );
}

function Json({ value }: { value: unknown }) {
  const json = JSON.stringify(value, null, 2) ?? "";
  return json === "{}" ? null : <pre class="tool-json"><code>{exact(json)}</code></pre>;
}
