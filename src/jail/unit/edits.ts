/** The operations of a unit that change files. */
import { type DecodedText, decodeText, withLineEndsOf } from "../../base/edits/encoding.ts";
import { patchedText } from "../../base/edits/apply_patch.ts";
import { type Edit, EditProblem } from "../../base/edits/edit.ts";
import type { FileChange } from "../../base/edits/changes.ts";
import { recordedChanges, shownChanges } from "../../base/edits/shown_changes.ts";
import { type Applied, editText } from "../../base/edits/edit_text.ts";
import { parsePatch, type PatchStep, pathsOf } from "../../base/edits/patch.ts";
import type { FileStat } from "../../os/openat2.ts";
import { RootedError, type RootedFs } from "../rooted.ts";
import { laterInBare, ledTo, runsLater } from "../runs_later.ts";
import { kindAt, looksBinary, type OpContext } from "./files.ts";
import { type FileSeen, type OpOutcome, type UnitArgs, UnitError } from "./protocol.ts";

const MAX_BYTES = 64 * 1024 * 1024;
/** Longest text kept to show later what changed in it. */
const REMEMBERED_CHARS = 256 * 1024;

/**
 * Refuses a path that really is a file that runs later, because the approval showed another name.
 */
function byItsName(
  { fs, workdir, home, leads }: OpContext,
  path: string,
): (place: string) => void {
  return (place) => {
    if (place === fs.relative(path)) return;
    const absolute = `${workdir === "/" ? "" : workdir}/${place}`;
    const later = runsLater(absolute, home) ?? ledTo(absolute, leads) ??
      laterInBare(`/${place}`, (each) => isThere(fs, each.slice(1)));
    if (later === undefined || (later.only === "new" && isThere(fs, place))) return;
    throw new UnitError(`${path}: this is really ${place} (${later.runner}); use that path`);
  };
}

/**
 * `write_file {path, content, seen?}`: creates or replaces a whole file. A replaced text keeps its
 * encoding, byte order mark and line ends.
 */
export function writeFile(context: OpContext, args: UnitArgs): OpOutcome {
  const { fs } = context;
  const path = args.string("path");
  const content = args.string("content");
  const seen = args.seen().get(path);
  const before = existing(fs, path);
  const now = before && before.size <= MAX_BYTES ? tryText(fs, path) : undefined;
  if (seen !== undefined && before !== undefined && before.version !== seen.version) {
    requireUnchanged(path, seen, now);
  }
  const text = now === undefined ? content : withLineEndsOf(now.text, noBom(content));
  const data = now === undefined
    ? new TextEncoder().encode(text)
    : attempt(path, () => now.encode(text), TO_UTF8);
  const replaced = before !== undefined && now === undefined;
  const writes = [{ path, text, data, before: now, ...replaced && { replaced } }];
  if (args.flag("dry")) return tried(context, writes);
  const done = fs.write(path, data, { check: byItsName(context, path) });
  return {
    output: `${done} ${path} (${data.length} bytes${keptOf(now, content)})`,
    files: [seenAs(fs, path, text)],
    ...changed(writes),
  };
}

const TO_UTF8 = "; to have it in UTF-8, delete the file first";

/** Names what stayed although the model did not write it. */
function keptOf(now: OpenText | undefined, content: string): string {
  const kept: string[] = [];
  if (now !== undefined && now.encoding !== "UTF-8") kept.push(now.encoding);
  if (now !== undefined && withLineEndsOf(now.text, content) !== content) kept.push("CRLF");
  return kept.length === 0 ? "" : `, ${kept.join(", ")} as before`;
}

/**
 * `edit_file {path, old_text, new_text, replace_all?}` or `edit_file {path, edits: […]}`: makes all
 * replacements or none; an empty `old_text` creates a file.
 *
 * @throws {UnitError} when the place of an edit is not certain, or the file has changed since it
 * was last read
 */
export function editFile(context: OpContext, args: UnitArgs): OpOutcome {
  const { fs } = context;
  const path = args.string("path");
  const edits = editsOf(args);
  const [first] = edits;
  if (first.old_text === "") {
    if (edits.length > 1) {
      throw new UnitError(`an empty "old_text" creates a file and must be the only edit`);
    }
    if ((existing(fs, path)?.size ?? 0) > 0) {
      throw new UnitError(`${path}: already exists; "old_text" must contain the text to replace`);
    }
    return writeFile(context, args.with({ content: first.new_text }));
  }
  const file = readText(fs, path, args.seen().get(path));
  const applied: Applied[] = [];
  let text = file.text;
  for (const [n, edit] of edits.entries()) {
    const done = attempt(edits.length === 1 ? path : `${path}: edit ${n + 1}`, () => {
      return editText(text, {
        ...edit,
        old_text: noBom(edit.old_text),
        new_text: noBom(edit.new_text),
      });
    });
    applied.push(done);
    text = done.text;
  }
  const data = attempt(path, () => file.encode(text));
  const writes = [{ path, text, data, before: file }];
  if (args.flag("dry")) return tried(context, writes);
  fs.write(path, data, { check: byItsName(context, path) });
  return {
    output: edited(path, applied),
    files: [seenAs(fs, path, text)],
    ...changed(writes),
  };
}

/**
 * `apply_patch {patch}`: adds, changes, moves and deletes files, if the whole patch fits.
 *
 * @throws {UnitError} when a part does not fit or cannot be written; no file has changed then
 */
export function applyPatch(context: OpContext, args: UnitArgs): OpOutcome {
  const { fs } = context;
  const steps = attempt("patch", () => parsePatch(args.string("patch")));
  const paths = steps.flatMap(pathsOf).map((path) => fs.relative(path));
  const twice = paths.find((path, n) => paths.indexOf(path) !== n);
  if (twice !== undefined) throw new UnitError(`${twice}: the patch contains it more than once`);
  const seen = args.seen();
  const all = steps.map((step) => prepared(fs, step, seen));
  const writes = all.flatMap((it) => "removed" in it ? [] : [it]);
  const removals = all.flatMap((it) => "removed" in it ? [it] : []);
  const moved = writes.flatMap(({ moved }) => moved === undefined ? [] : [moved.from]);
  const removed = [...removals.map(({ path }) => path), ...moved];
  if (args.flag("dry")) return tried(context, writes, removals);
  writeAll(context, writes, removed);
  return {
    output: steps.map(doneLine).join("\n"),
    files: writes.map(({ path, text }) => seenAs(fs, path, text)),
    ...changed(writes, removals),
  };
}

function doneLine(step: PatchStep): string {
  const what = { add: "added", delete: "deleted", update: "changed" }[step.kind];
  const to = step.kind === "update" && step.move_to ? ` and moved to ${step.move_to}` : "";
  return `${what} ${step.path}${to}`;
}

interface Write {
  path: string;
  text: string;
  data: Uint8Array<ArrayBuffer>;
  /** `undefined` for a new file, and for one whose text is not known. */
  before?: OpenText;
  /** Whether it takes the place of a file whose text is not known. */
  replaced?: true;
  /** The file that moves here, and its text. */
  moved?: { from: string; text: string };
  /** Of a file that moves. */
  mode?: number;
}

/** A file that a patch deletes, and its text. */
interface Removal {
  path: string;
  removed: string;
}

/** Returns what a call would change. */
function tried(
  context: OpContext,
  writes: readonly Omit<Write, "mode">[],
  removals: readonly Removal[] = [],
): OpOutcome {
  const { fs } = context;
  const removed = [
    ...removals.map(({ path }) => path),
    ...writes.flatMap(({ moved }) => moved?.from ?? []),
  ];
  for (const { path } of writes) fs.mayChange(path, { check: byItsName(context, path) });
  for (const path of removed) fs.mayChange(path, { check: byItsName(context, path), link: true });
  return { output: "", changes: shownChanges(changesBy(writes, removals)) };
}

/** Returns what a call has changed, where its arguments do not show all of it. */
function changed(
  writes: readonly Omit<Write, "mode">[],
  removals: readonly Removal[] = [],
): Pick<OpOutcome, "changes"> {
  const changes = recordedChanges(changesBy(writes, removals));
  return changes === undefined ? {} : { changes };
}

function changesBy(
  writes: readonly Omit<Write, "mode">[],
  removals: readonly Removal[],
): FileChange[] {
  return [
    ...writes.map(({ path, text, before, moved, replaced }): FileChange => ({
      path: moved === undefined ? path : `${moved.from} → ${path}`,
      before: before?.text ?? moved?.text,
      after: text,
      ...replaced && { replaced },
    })),
    ...removals.map(({ path, removed }): FileChange => ({
      path,
      before: removed,
      after: "",
      deleted: true,
    })),
  ];
}

function prepared(
  fs: RootedFs,
  step: PatchStep,
  seen: ReadonlyMap<string, FileSeen>,
): Write | Removal {
  const { path } = step;
  if (step.kind === "add") {
    if (existing(fs, path) !== undefined) {
      throw new UnitError(`${path}: already exists; update it instead`);
    }
    return { path, text: step.text, data: new TextEncoder().encode(step.text) };
  }
  const file = readText(fs, path, seen.get(path));
  if (step.kind === "delete") return { path, removed: file.text };
  const to = step.move_to ?? path;
  if (to !== path && existing(fs, to) !== undefined) {
    throw new UnitError(`${to}: already exists; a move does not replace files`);
  }
  const text = attempt(path, () => patchedText(file.text, step.hunks));
  const data = attempt(path, () => file.encode(text));
  return to === path
    ? { path, text, data, before: file }
    : { path: to, text, data, mode: fs.stat(path).mode, moved: { from: path, text: file.text } };
}

/** Writes and removes all of these files, or leaves all as they were. */
function writeAll(
  context: OpContext,
  writes: readonly Write[],
  removed: readonly string[],
): void {
  const { fs } = context;
  const done: { write: Write; made: string[] }[] = [];
  try {
    for (const write of writes) {
      const { path, data, mode } = write;
      const made = missingDirectories(fs, path);
      done.push({ write, made });
      fs.write(path, data, { check: byItsName(context, path), mode });
    }
    fs.remove(removed, (path, place) => byItsName(context, path)(place));
  } catch (error) {
    const left = done.reverse().filter(({ write, made }) => !takenBack(fs, write, made));
    const said = error instanceof Error ? error.message : String(error);
    const state = left.length === 0
      ? "no file was changed"
      : `could not be put back: ${left.map(({ write }) => write.path).join(", ")}`;
    throw new UnitError(`${said}; ${state}`);
  }
}

/** @returns whether the file and its directories are restored */
function takenBack(fs: RootedFs, { path, before }: Write, made: readonly string[]): boolean {
  try {
    if (before === undefined && existing(fs, path) !== undefined) fs.remove([path]);
    // An unchanged file needs no write, which could fail on a full disk.
    if (before !== undefined && !holds(fs, path, before.data)) fs.write(path, before.data);
    for (const directory of made) fs.removeEmpty(directory);
    return true;
  } catch {
    return false;
  }
}

function holds(fs: RootedFs, path: string, data: Uint8Array): boolean {
  const now = new Uint8Array(data.length + 1);
  const { bytes } = fs.read(path, 0, now);
  return bytes === data.length && data.every((byte, n) => byte === now[n]);
}

/** The missing directories above a path, innermost first. */
function missingDirectories(fs: RootedFs, path: string): string[] {
  const missing: string[] = [];
  for (let up = fs.relative(path);;) {
    const cut = up.lastIndexOf("/");
    if (cut < 0) return missing;
    up = up.slice(0, cut);
    if (isThere(fs, up)) return missing;
    missing.push(up);
  }
}

function isThere(fs: RootedFs, path: string): boolean {
  return kindAt(fs, path) !== undefined;
}

/** `read_text {path}`: the whole text unchanged, for svc itself and not for a model. */
export function readWholeText({ fs }: OpContext, args: UnitArgs): OpOutcome {
  return { output: decoded(fs, args.string("path")).text };
}

/** A text and the bytes it was read from. */
interface OpenText extends DecodedText {
  data: Uint8Array<ArrayBuffer>;
  version: string;
}

/** Returns the text of a file. @throws {UnitError} if the model last saw another text */
function readText(fs: RootedFs, path: string, seen: FileSeen | undefined): OpenText {
  const file = decoded(fs, path);
  if (seen !== undefined && file.version !== seen.version) {
    requireUnchanged(path, seen, { text: file.text, version: file.version });
  }
  return file;
}

function decoded(fs: RootedFs, path: string): OpenText {
  const { size } = fs.stat(path);
  if (size > MAX_BYTES) {
    throw new UnitError(`${path}: is too large (${size} bytes, at most ${MAX_BYTES})`);
  }
  // One extra byte shows whether the file has grown.
  const buffer = new Uint8Array(size + 1);
  const { bytes, stat } = fs.read(path, 0, buffer);
  if (bytes > size) throw new UnitError(`${path}: changed while it was being read; try again`);
  const data = buffer.subarray(0, bytes);
  if (looksBinary(data)) throw new UnitError(`${path}: is a binary file (${size} bytes)`);
  const file = decodeText(data);
  if (file === undefined) throw new UnitError(`${path}: is not valid UTF-16`);
  return { ...file, data, version: stat.version };
}

function tryText(fs: RootedFs, path: string): OpenText | undefined {
  try {
    return decoded(fs, path);
  } catch (error) {
    if (error instanceof UnitError || error instanceof RootedError) return undefined;
    throw error;
  }
}

/** @throws {UnitError} with the current text, if it differs from the text that was seen */
function requireUnchanged(
  path: string,
  seen: FileSeen,
  now: { text: string; version: string } | undefined,
): void {
  if (now !== undefined && now.text === seen.text) return;
  const shown = now !== undefined && now.text.length <= REMEMBERED_CHARS ? now : undefined;
  throw new UnitError(`${path}: has changed since it was last read; nothing was written`, {
    path,
    before: seen.text,
    now: shown && { path, version: shown.version, text: shown.text },
  });
}

/** `undefined` if there is no regular file. */
function existing(fs: RootedFs, path: string): FileStat | undefined {
  try {
    const stat = fs.stat(path);
    return stat.kind === "file" ? stat : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what to remember about a file just written. */
function seenAs(fs: RootedFs, path: string, text: string): FileSeen {
  const { version } = fs.stat(path);
  return text.length <= REMEMBERED_CHARS ? { path, version, text } : { path, version };
}

function editsOf(args: UnitArgs): Edit[] {
  const all = args.list("edits") ?? [args];
  if (all.length === 0) throw new UnitError(`"edits" is empty`);
  return all.map((edit) => ({
    old_text: edit.string("old_text"),
    new_text: edit.string("new_text"),
    replace_all: edit.flag("replace_all"),
  }));
}

/** A model does not see a byte order mark, so it does not mean to change it. */
function noBom(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/** Runs a step, and adds the place to its expected failures. */
function attempt<T>(where: string, step: () => T, advice = ""): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof EditProblem || error instanceof RangeError) {
      throw new UnitError(`${where}: ${error.message}${advice}`);
    }
    throw error;
  }
}

function edited(path: string, applied: readonly Applied[]): string {
  const places = applied.map(({ line, times, step, mended }) => {
    const where = times === 1 ? `at line ${line}` : `${times} times, first at line ${line}`;
    const other = step === "exact"
      ? mended
      : [`other ${step}`, mended].filter(Boolean).join(" and ");
    return other === undefined ? where : `${where} (old_text had ${other})`;
  });
  return `edited ${path}: replaced ${places.join("; ")}`;
}
