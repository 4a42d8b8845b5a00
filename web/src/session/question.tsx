/** What a person is asked to allow: all of it, and nothing in it that looks like something else. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type FileChange, hasAllChanges } from "../../../src/base/edits/changes.ts";
import { exact, exactLine } from "../../../src/base/visible.ts";
import type { AddedDirectory } from "../../../src/protocol/added_directory.ts";
import type { Question } from "../../../src/session/question.ts";
import { explain } from "../rpc/api.ts";
import { useLoaded } from "../ui/use_loaded.ts";
import { reasonLine } from "./asked_about.ts";
import type { AskedDiffProps } from "./asked_changes.ts";
import type { FileNow } from "./on_disk.ts";

interface QuestionBodyProps {
  question: Question;
  /** What the call may do, in words. */
  risk?: string;
  /** Where the call works. */
  workdir: string;
  /** What draws changes, if it is there already. */
  diff?: ComponentType<AskedDiffProps>;
  /** Asks for the files that the call would change, as they are now. */
  files(): Promise<{ files: FileNow[] }>;
  /** Called once all of it is drawn. */
  onDrawn(): void;
}

/** The question, in full. */
export function QuestionBody({ question, risk, workdir, diff, files, onDrawn }: QuestionBodyProps) {
  const { tool, args, changes = [] } = question;
  const reason = reasonLine(question);
  return (
    <div class="approval-body">
      {reason !== undefined && <p class="approval-reason">{reason}</p>}
      {risk !== undefined && <p class="approval-risk">{risk}</p>}
      <p class="approval-where">
        Directory <span class="mono">{exactLine(workdir)}</span>
      </p>
      {changes.length > 0 && hasAllChanges(changes)
        ? <Changes args={args} changes={changes} diff={diff} onDrawn={onDrawn} />
        : tool === "write_file" || tool === "edit_file"
        ? <Change tool={tool} args={args} files={files} onDrawn={onDrawn} />
        : <Words args={args} onDrawn={onDrawn} />}
    </div>
  );
}

/** A command or a patch as it was written, and everything else by its names. */
export function Words({ args, onDrawn }: { args: unknown; onDrawn(): void }) {
  const { command, patch, ...rest } = (args ?? {}) as Record<string, unknown>;
  useEffect(onDrawn, []);
  const text = patch === undefined ? command : command === undefined ? patch : undefined;
  if (typeof text !== "string") return <Args value={args} />;
  return (
    <>
      <pre class={patch === undefined ? "tool-command" : "tool-patch"}>
        <code>{exact(text)}</code>
      </pre>
      <Args value={rest} />
    </>
  );
}

/** Imports what draws the changes of a question. */
export const loadAskedDiff = async () => (await import("./diff_view.tsx")).AskedDiff;

interface ChangesProps extends Pick<QuestionBodyProps, "diff" | "onDrawn"> {
  args: unknown;
  changes: readonly FileChange[];
}

/** What a call would change, as svc has found out by trying it, with what else was said of it. */
function Changes({ args, changes, diff, onDrawn }: ChangesProps) {
  const { Part: AskedDiff = diff, failure } = useLoaded(loadAskedDiff);
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
  if (failure !== undefined) return <Args value={args} />;
  if (DiskDiff === undefined || file === undefined) return <p class="tool-none">Loading</p>;
  return <DiskDiff tool={tool} args={args} file={file} onWhole={onDrawn} />;
}

/** Arguments by their names: a text as it is written, anything else as JSON. */
export function Args({ value }: { value: unknown }) {
  const all = value !== null && typeof value === "object" && !Array.isArray(value)
    ? Object.entries(value).filter(([, each]) => each !== undefined)
    : [["arguments", value] as const];
  if (all.length === 0) return null;
  return (
    <dl class="approval-args">
      {all.map(([name, each]) => (
        <div key={name}>
          <dt>{exactLine(name)}</dt>
          <dd>{exact(argText(name, each))}</dd>
        </div>
      ))}
    </dl>
  );
}

function argText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (name === "paths" && isDirectories(value)) {
    return value.map(({ path, access }) =>
      `${access === "write" ? "read and change" : "read"} ${path}`
    ).join("\n");
  }
  return JSON.stringify(value, null, 2) ?? "";
}

function isDirectories(value: unknown): value is AddedDirectory[] {
  return Array.isArray(value) &&
    value.every((it) =>
      typeof it?.path === "string" && !/\n/.test(it.path) &&
      ["read", "write"].includes(it.access) &&
      Object.keys(it).length === 2
    );
}
