/** Checks of files: modes, configuration, journals, free space. */
import { dirname, join } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import { storeOf } from "../../jail/command_space.ts";
import { storeSizes } from "../../jail/space_sizes.ts";
import { checkPrivate, exists } from "../../os/files.ts";
import { readLines } from "../../os/lines.ts";
import { runProgram } from "../../os/program.ts";
import { BadRecord, decodeRecord } from "../../session/record.ts";
import { type CheckResult, type Patient, workdirsOf } from "./check.ts";

/** Checks owner and mode of the home and of every file of svc in it (contract.md section 1). */
export function files({ paths }: Patient): CheckResult {
  if (!exists(paths.home)) {
    return { status: "ok", message: `${paths.home} does not exist yet; the daemon creates it` };
  }
  const inside = [paths.bus, paths.anchors].map(below);
  const dirs = [
    paths.home,
    paths.log_dir,
    paths.journal_links,
    paths.anchors,
    paths.bus,
    paths.cortex,
    ...inside.flatMap((it) => it.dirs),
  ];
  const ours = [
    paths.discovery,
    paths.lock,
    paths.index,
    paths.config,
    paths.keys,
    paths.keys_lock,
    paths.log,
    join(paths.home, "state.db"),
    paths.policy,
    paths.update_lock,
    paths.update_state,
    paths.curator_audit,
    ...inside.flatMap((it) => it.files),
  ];
  const problems: SvcError[] = [];
  let checked = 0;
  const check = (path: string, mode: number, kind: "file" | "dir") => {
    try {
      if (checkPrivate(path, mode, kind)) checked++;
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      problems.push(error);
    }
  };
  for (const path of dirs) check(path, 0o700, "dir");
  for (const path of ours) check(path, 0o600, "file");
  if (problems.length === 0) {
    return { status: "ok", message: `${paths.home}: ${checked} files and directories are private` };
  }
  return {
    status: "fail",
    message: problems.map(({ message }) => message).join("; "),
    hint: problems.map(({ hint }) => hint).join("\n"),
  };
}

function below(dir: string): { dirs: string[]; files: string[] } {
  const dirs: string[] = [];
  const files: string[] = [];
  for (const { name, isDirectory } of entriesOf(dir)) {
    const path = join(dir, name);
    if (!isDirectory) {
      files.push(path);
      continue;
    }
    const deeper = below(path);
    dirs.push(path, ...deeper.dirs);
    files.push(...deeper.files);
  }
  return { dirs, files };
}

/** Empty for an unreadable directory: its own mode is the problem. */
function entriesOf(dir: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(dir)];
  } catch {
    return [];
  }
}

/** Checks `daemon.toml`. */
export function config({ paths, config_problem, config_hint }: Patient): CheckResult {
  if (config_problem !== undefined) {
    return { status: "fail", message: config_problem, hint: config_hint };
  }
  const message = exists(paths.config) ? `${paths.config} is valid` : "all defaults";
  return { status: "ok", message };
}

/** Checks the journals of the sessions in the index. */
export async function journals({ paths, index, index_problem }: Patient): Promise<CheckResult> {
  if (index_problem !== undefined) {
    return {
      status: "warn",
      message: `${paths.index} ${index_problem}`,
      hint: "the next start of the daemon rebuilds it from the journals",
    };
  }
  const entries = Object.entries(index);
  const unreadable: string[] = [];
  for (const [id, { journal_path }] of entries) {
    const problem = await journalProblem(journal_path);
    if (problem !== undefined) unreadable.push(`${id} ${problem} (${journal_path})`);
  }
  if (unreadable.length === 0) {
    return { status: "ok", message: `all ${entries.length} sessions can be read` };
  }
  return {
    status: "fail",
    message: `${unreadable.length} of ${entries.length} cannot be read: ${unreadable.join("; ")}`,
    hint: "the files were not changed; other sessions are not affected",
  };
}

/** Returns why a journal cannot be read. A torn last line is no problem. Changes nothing. */
export async function journalProblem(path: string): Promise<string | undefined> {
  let last_seq: number | undefined;
  let problem: string | undefined;
  try {
    for await (const { line, whole } of readLines(path, 0, Deno.statSync(path).size)) {
      if (problem !== undefined) return problem;
      if (!whole) break;
      try {
        const { seq, type } = decodeRecord(line);
        const expected = last_seq === undefined && type !== "session.checkpoint"
          ? 1
          : (last_seq ?? seq - 1) + 1;
        if (seq !== expected) return `has seq ${seq} instead of ${expected}`;
        last_seq = seq;
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error;
        problem = `has a bad line after seq ${last_seq ?? 0}: ${error.message}`;
        if (error.message.includes("schema version")) return problem;
      }
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "has no journal";
    if (error instanceof Deno.errors.PermissionDenied) {
      return "has a journal that belongs to another user";
    }
    if (error instanceof SvcError) return "has no regular file as its journal";
    throw error;
  }
  return last_seq === undefined ? "has an empty journal" : undefined;
}

const MIB = 1024 * 1024;
const WARN_BYTES = 1024 * MIB;
const FAIL_BYTES = 100 * MIB;

/** Checks the free space of the home and of the sessions' directories. */
export async function disk(patient: Patient): Promise<CheckResult> {
  const workdirs = workdirsOf(patient);
  const wanted = [patient.paths.home, ...workdirs];
  const there = [...new Set(wanted.map(nearestVisible))];
  const said = await runProgram("df", ["-Pk", ...there], workdirs);
  return judgeDisk(said === undefined ? [] : parseDf(said.stdout));
}

interface FileSystem {
  mount: string;
  free_bytes: number;
}

/** Returns the file systems that `df -Pk` lists, each once. */
export function parseDf(text: string): FileSystem[] {
  const found = new Map<string, number>();
  for (const line of text.split("\n").slice(1)) {
    const [, free_kib, mount] = line.match(/\s\d+\s+\d+\s+(\d+)\s+(?:\d+%|-)\s+(.+)$/) ?? [];
    if (mount !== undefined) found.set(mount, Number(free_kib) * 1024);
  }
  return [...found].map(([mount, free_bytes]) => ({ mount, free_bytes }));
}

/** Reports the free space, and whether it is enough. */
export function judgeDisk(systems: readonly FileSystem[]): CheckResult {
  if (systems.length === 0) {
    return { status: "warn", message: "unknown, because df does not work here" };
  }
  const least = Math.min(...systems.map(({ free_bytes }) => free_bytes));
  const message = systems.map(({ mount, free_bytes }) =>
    `${(free_bytes / (1024 * MIB)).toFixed(1)} GiB free at ${mount}`
  ).join(", ");
  if (least >= WARN_BYTES) return { status: "ok", message };
  const status = least < FAIL_BYTES ? "fail" : "warn";
  return { status, message, hint: "free some space: sessions need it for their journals" };
}

/** Shows what commands keep in the store of svc. */
export async function caches(patient: Patient): Promise<CheckResult> {
  const { spaces } = patient.paths;
  const { caches, tmp } = await storeSizes(spaces, workdirsOf(patient));
  if (caches.length + tmp.length === 0) return { status: "ok", message: "commands keep nothing" };
  const kept: string[] = [];
  if (caches.length > 0) {
    const largest = caches.length === 1
      ? "for"
      : `the largest with ${shownMib(caches[0].bytes)} for`;
    kept.push(
      `${shownMib(sum(caches.map(({ bytes }) => bytes)))} in the package caches of ` +
        `${counted(caches.length, "directory", "directories")}, ${largest} ${caches[0].workdir}`,
    );
  }
  if (tmp.length > 0) {
    kept.push(`${shownMib(sum(tmp))} in /tmp of ${counted(tmp.length, "session", "sessions")}`);
  }
  return {
    status: "ok",
    message: kept.join("; "),
    hint:
      "caches go after 30 days without use, and 2 days after their directory is gone; while no " +
      `command runs you can remove ${storeOf(spaces).caches}`,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

function shownMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns the path, or the nearest visible directory above it. */
function nearestVisible(path: string): string {
  try {
    Deno.lstatSync(path);
    return path;
  } catch {
    return dirname(path) === path ? path : nearestVisible(dirname(path));
  }
}
