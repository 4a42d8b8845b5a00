/** What a person is asked to allow: all of it, and nothing in it that looks like something else. */
import { useEffect, useState } from "preact/hooks";
import { type FileChange, hasAllChanges } from "../../../src/base/edits/changes.ts";
import { exact, exactLine } from "../../../src/base/visible.ts";
import type { Question } from "../../../src/session/question.ts";
import { explain } from "../rpc/api.ts";
import { useLoaded } from "../ui/use_loaded.ts";
import type { FileNow } from "./on_disk.ts";

interface QuestionBodyProps {
  question: Question;
  /** Asks for the files that the call would change, as they are now. */
  files(): Promise<{ files: FileNow[] }>;
  /** Called once all of it is drawn. */
  onDrawn(): void;
}

/** The question, in full. */
export function QuestionBody({ question, files, onDrawn }: QuestionBodyProps) {
  const { tool, args, reason, changes = [] } = question;
  return (
    <div class="approval-body">
      <p class="approval-reason">{exactLine(reason)}</p>
      {changes.length > 0 && hasAllChanges(changes)
        ? <Changes args={args} changes={changes} onDrawn={onDrawn} />
        : tool === "write_file" || tool === "edit_file"
        ? <Change tool={tool} args={args} files={files} onDrawn={onDrawn} />
        : <Words args={args} onDrawn={onDrawn} />}
    </div>
  );
}

/** A command or a patch as it was written, and everything else as JSON. */
export function Words({ args, onDrawn }: { args: unknown; onDrawn(): void }) {
  const { command, patch, ...rest } = (args ?? {}) as Record<string, unknown>;
  useEffect(onDrawn, []);
  const text = patch === undefined ? command : command === undefined ? patch : undefined;
  if (typeof text !== "string") return <Json value={args} />;
  return (
    <>
      <pre class={patch === undefined ? "tool-command" : "tool-json"}>
        <code>{exact(text)}</code>
      </pre>
      <Json value={rest} />
    </>
  );
}

const loadAskedDiff = async () => (await import("./diff_view.tsx")).AskedDiff;

interface ChangesProps extends Pick<QuestionBodyProps, "onDrawn"> {
  args: unknown;
  changes: readonly FileChange[];
}

/** What a call would change, as svc has found out by trying it, with what else was said of it. */
function Changes({ args, changes, onDrawn }: ChangesProps) {
  const { Part: AskedDiff, failure } = useLoaded(loadAskedDiff);
  // Without the module that draws it, the call is shown as it was written.
  if (failure !== undefined) return <Words args={args} onDrawn={onDrawn} />;
  if (AskedDiff === undefined) return <p class="tool-none">Loading</p>;
  return <AskedDiff args={args} changes={changes} onWhole={onDrawn} />;
}

const loadDiskDiff = async () => (await import("./diff_view.tsx")).DiskDiff;

interface ChangeProps extends Pick<QuestionBodyProps, "files" | "onDrawn"> {
  tool: string;
  args: unknown;
}

/**
 * A change of a file as it is now: of one that is too long for the question, or that an older daemon
 * asks about; line by line, with what else was said of it. */
function Change({ tool, args, files, onDrawn }: ChangeProps) {
  const { Part: DiskDiff, failure } = useLoaded(loadDiskDiff);
  const [file, setFile] = useState<Pick<FileNow, "state" | "content" | "reason">>();
  useEffect(() => {
    files().then(
      ({ files: [found] }) => setFile(found ?? { state: "unreadable", reason: "it has no name" }),
      (error) => setFile({ state: "unreadable", reason: explain(error) }),
    );
  }, []);
  useEffect(() => {
    if (failure !== undefined) onDrawn();
  }, [failure]);
  // Without the module that draws it, it is shown all the same.
  if (failure !== undefined) return <Json value={args} />;
  if (DiskDiff === undefined || file === undefined) return <p class="tool-none">Loading</p>;
  return <DiskDiff tool={tool} args={args} file={file} onWhole={onDrawn} />;
}

export function Json({ value }: { value: unknown }) {
  const json = JSON.stringify(value, null, 2) ?? "";
  return json === "{}" ? null : <pre class="tool-json"><code>{exact(json)}</code></pre>;
}
