import "./views.ts";
import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { exact, exactLine } from "../../../src/base/visible.ts";
import { Coloured, useTokens } from "../highlight/code.tsx";
import { languageOfPath } from "../../../src/base/highlight/languages.ts";
import { linesOf as lineTokens, type Token } from "../../../src/base/highlight/tokens.ts";
import type { NamedChange } from "./call.ts";
import { Button } from "../ui/button.tsx";
import { type AskedDiffProps, askedFiles, linesOf } from "./asked_changes.ts";
import { type DiffLine, diffOf, LINES_MAX } from "./diff.ts";
import { changeOnDisk, type FileNow } from "./on_disk.ts";
import { Args } from "./question.tsx";

const SIGNS: Record<DiffLine["kind"], string> = { insert: "+", delete: "−", same: " ", gap: "⋯" };
const SAID: Partial<Record<DiffLine["kind"], string>> = { insert: "added", delete: "removed" };

/** The change of a file, line by line. It is loaded when there is one to show. */
export function DiffView({ parts, in_turn, path }: Omit<NamedChange, "note">) {
  const lines = useMemo(() => linesOf(parts, undefined, in_turn), [parts, in_turn]);
  return lines.length === 0 || parts[0].deleted ? null : <Lines all={lines} path={path} />;
}

interface LinesProps {
  path: string;
  all: readonly DiffLine[];
  /** Called once all of it is drawn. */
  onWhole?(): void;
}

function Lines({ all, path, onWhole }: LinesProps) {
  const whole = useSignal(false);
  const lines = useMemo(() => whole.value ? all : all.slice(0, LINES_MAX), [all, whole.value]);
  useEffect(() => {
    if (lines.length === all.length) onWhole?.();
  }, [lines, all]);
  const coloured = useColoured(lines, languageOfPath(path));
  const numbered = all.some(({ number }) => number !== undefined);
  return (
    <div
      class={numbered ? "diff numbered" : "diff"}
      role="group"
      aria-label={`Change of ${path}`}
      tabIndex={0}
    >
      {lines.map(({ kind, text, number }, n) => (
        <div key={n} class={`diff-line ${kind}`}>
          {numbered && <span class="diff-number" aria-hidden="true">{number}</span>}
          <span class="diff-sign" aria-hidden="true">{SIGNS[kind]}</span>
          {SAID[kind] && <span class="visually-hidden">{SAID[kind]}:</span>}
          <code>
            {text === "" ? " " : coloured?.[n] ? <Coloured tokens={coloured[n]} /> : text}
          </code>
        </div>
      ))}
      {lines.length < all.length && (
        <Button onClick={() => whole.value = true}>
          Show {all.length - lines.length} more lines
        </Button>
      )}
    </div>
  );
}

interface FileHeadProps {
  path: string;
  note?: string;
  lines: readonly DiffLine[];
}

/** The name of a file in a question, with what becomes of it. */
function FileHead({ path, note, lines }: FileHeadProps) {
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  const [added, removed] = [count("insert"), count("delete")];
  return (
    <p class="approval-file">
      <span class="mono">{path}</span>
      {note !== undefined && <span class="approval-note">{note}</span>}
      <span class="approval-lines">
        <span aria-hidden="true">{`+${added} −${removed}`}</span>
        <span class="visually-hidden">{`${added} lines added, ${removed} removed`}</span>
      </span>
    </p>
  );
}

/** What a call would change, file by file, with everything else that was said of it. */
export function AskedDiff({ args, changes, onWhole }: AskedDiffProps) {
  const files = useMemo(() => askedFiles(changes), [changes]);
  const drawn = useRef(new Set<string>());
  const { path: _, old_text: __, new_text: ___, edits: ____, content: _____, ...more } =
    args as Record<string, unknown>;
  const { patch, paths, ...rest } = more;
  const named = Array.isArray(paths) &&
    paths.every((it) => changes.some(({ path }) => path === it));
  return (
    <>
      {files.map(({ path, note, lines }) => (
        <Fragment key={path}>
          <FileHead path={path} note={note} lines={lines} />
          <Lines
            all={lines}
            path={path}
            onWhole={() => {
              drawn.current.add(path);
              if (drawn.current.size === files.length) onWhole?.();
            }}
          />
        </Fragment>
      ))}
      <Args
        value={{
          ...rest,
          ...typeof patch !== "string" && { patch },
          ...!named && { paths },
        }}
      />
    </>
  );
}

interface DiskDiffProps {
  tool: string;
  args: unknown;
  /** The file as it is now. */
  file: Pick<FileNow, "state" | "content" | "reason">;
  onWhole(): void;
}

/** What a call would make of a file, with everything else that was said of it. */
export function DiskDiff({ tool, args, file, onWhole }: DiskDiffProps) {
  const { path, old_text: _, new_text: __, content: ___, edits, ...rest } = args as Record<
    string,
    unknown
  >;
  const change = useMemo(() => changeOnDisk(tool, args, file)!, [args, file]);
  const lines = useMemo(
    () => diffOf(exact(change.before), exact(change.after), change.whole ? [1, 1] : undefined),
    [change],
  );
  const name = exactLine(String(path));
  return (
    <>
      <FileHead path={name} note={exactLine(change.note)} lines={lines} />
      <Lines all={lines} path={name} onWhole={onWhole} />
      <Args value={change.whole ? rest : { ...rest, edits }} />
    </>
  );
}

/** The tokens of each line; what was and what is are highlighted apart, each as a text of its own. */
function useColoured(
  lines: readonly DiffLine[],
  language: string | undefined,
): readonly (readonly Token[] | undefined)[] | undefined {
  const textOf = (without: DiffLine["kind"]) =>
    lines.filter(({ kind }) => kind !== without && kind !== "gap").map(({ text }) => text)
      .join("\n");
  const [was, is] = useMemo(() => [textOf("insert"), textOf("delete")], [lines]);
  const before = useTokens(was, language);
  const after = useTokens(is, language);
  return useMemo(() => {
    if (before === undefined || after === undefined) return undefined;
    const old_lines = lineTokens(before).values();
    const new_lines = lineTokens(after).values();
    return lines.map(({ kind }) => {
      if (kind === "gap") return undefined;
      const old_line = kind === "insert" ? undefined : old_lines.next().value;
      const new_line = kind === "delete" ? undefined : new_lines.next().value;
      return new_line ?? old_line;
    });
  }, [lines, before, after]);
}
