/** What a model is told about its session. */
import { visibleLine } from "../../base/visible.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { addedDirectoriesText, type AddedDirectory } from "../../protocol/added_directory.ts";
import type { Approval, ToldPart, Trust } from "../../protocol/events.ts";

/** The facts in words. Their names never change, so that a change is one value. */
export type Facts = Record<Exclude<FactName, Optional>, string> & {
  /** Absent from a session that has none. */
  added?: string;
  /** Absent where the person grants nothing. */
  granted?: string;
  /** Absent from a session that has none. */
  skills?: string;
  /** Absent from a session that was started without one. */
  skill?: string;
};

type Optional = "added" | "granted" | "skills" | "skill";

type FactName = keyof typeof LABELS;

/** In the order of the text. */
const LABELS = {
  directory: "Working directory",
  added: "Added directories",
  repository: "Git repository",
  branch: "Branch",
  date: "Date",
  system: "System",
  shell: "Shell of commands",
  model: "Model",
  approval: "Approval",
  sandbox: "Limits",
  network: "Network of commands",
  granted: "Granted to commands",
  skills: "Skills",
  skill: "Skill of this session",
};

export interface FactSources {
  workdir: string;
  /** Directories besides it that the session may use. */
  added?: readonly AddedDirectory[];
  /** The top of the checkout; undefined without a repository. */
  repository?: string;
  branch: string;
  now: Date;
  system: string;
  shell: string;
  model: string;
  approval: Approval;
  trust: Trust;
  /** Whether commands see the checkout around the working directory. */
  sees_checkout: boolean;
  /** What confines commands. */
  confined: Sandbox["kind"];
  network: boolean | "allowed";
  granted?: string;
  skills?: string;
  /** The instructions of the session's skill. */
  skill?: string;
}

/** Puts the facts into words. */
export function factsOf(from: FactSources): Facts {
  const { workdir, repository } = from;
  return {
    directory: visibleLine(workdir),
    ...(from.added === undefined ? {} : { added: addedOf(from.added) }),
    repository: repository === undefined
      ? "none"
      : repository === workdir
      ? "the working directory is its top"
      : visibleLine(repository) + (from.confined === "none" ? "" : belowTop(from)),
    branch: repository === undefined ? "none" : from.branch,
    date: dateOf(from.now),
    system: from.system,
    shell: from.shell,
    model: from.model,
    approval: approvalOf(from),
    sandbox: limitsOf(from),
    network: networkOf(from),
    ...(from.granted === undefined ? {} : { granted: from.granted }),
    ...(from.skills === undefined ? {} : { skills: from.skills }),
    ...(from.skill === undefined ? {} : { skill: from.skill }),
  };
}

function addedOf(added: readonly AddedDirectory[]): string {
  return `${visibleLine(addedDirectoriesText(added))}. File tools and commands can use them like ` +
    "the working directory, by absolute paths; undo does not cover them";
}

const SEES_CHECKOUT = "; commands can read all of it and commit, and change files in the working " +
  "directory only";
const SEES_HISTORY = "; commands read its history, and see no files of it but those of the " +
  "working directory. Git shows the others as deleted: use git status . and git diff .";

const READS_CHECKOUT = "; commands can read all of it, but not commit, and change files in the " +
  "working directory only";

function belowTop({ sees_checkout, confined }: FactSources): string {
  if (confined !== "bubblewrap") return sees_checkout ? READS_CHECKOUT : "";
  return sees_checkout ? SEES_CHECKOUT : SEES_HISTORY;
}

const FILE_TOOLS =
  "file tools reach the working directory only, and directories that the person adds";
const CONFINED =
  `${FILE_TOOLS}. Commands can write there and in /tmp, which is this session's own; the home ` +
  "directory is empty for each command, but package managers keep their caches. They can read the " +
  "system and its programs, and see none of the person's other files. If the work needs another " +
  "directory, say which and why: the person can add it with /add-dir";
const confinedBy = (name: string, more: string) =>
  `${FILE_TOOLS}. ${name} holds commands: they can write there and in $TMPDIR, which is this ` +
  "session's own like their home directory, and not in /tmp. They can read the system and its " +
  `programs, and none of the person's other files. They cannot use Unix sockets, ${more}`;
const CONFINED_IN_PART = {
  landlock: confinedBy(
    "Landlock",
    "pseudo-terminals, /dev/shm and System V IPC, nor list /. Keep to the working directory, and " +
      "leave .git/config, .git/hooks and .svc as they are, although commands can change them",
  ),
  seatbelt: confinedBy("Seatbelt", "pseudo-terminals and the keychain"),
};
const WAY_OUT = ". For one command that needs other files, name them in paths, and for one that " +
  "cannot work like this set outside_sandbox: true, each with a reason: the person is asked";
const UNCONFINED = `${FILE_TOOLS}. No sandbox holds commands on this machine, so keep to it in ` +
  "commands too";

function limitsOf(from: FactSources): string {
  if (from.confined === "none") return UNCONFINED;
  const limits = from.confined === "bubblewrap" ? CONFINED : CONFINED_IN_PART[from.confined];
  return mayAskForMore(from) ? limits + WAY_OUT : limits;
}

/** Whether a command can ask for more than the sandbox allows. */
function mayAskForMore({ trust, approval }: FactSources): boolean {
  return trust === "trusted" && approval !== "read_only";
}

function approvalOf({ approval, trust }: FactSources): string {
  switch (approval) {
    case "ask":
      return "reading runs at once; every change and command waits for the person's decision";
    case "workspace":
      return "workspace: reading, changes of files and commands run at once in the working " +
        "directory and added ones; everything else waits for the person's decision";
    case "read_only":
      return "read_only: only what reads is run. If more is needed, say what: the person can start " +
        "a session that may";
    case "auto":
      return trust === "trusted"
        ? "auto: calls run without a question"
        : "auto: calls run without a question, and risky ones are refused";
  }
}

function networkOf(from: FactSources): string {
  if (from.network === true) return "yes";
  if (from.confined === "none") return "not meant to be used";
  if (from.network === "allowed") return allowedOnly(from);
  const none = from.confined === "bubblewrap" ? "none" : "none, not even localhost";
  if (!mayAskForMore(from)) return `${none}; fetch_url reads web pages`;
  return `${none}; fetch_url reads web pages. For a command that needs it, such as one that installs ` +
    "packages, set network: true with a reason: the person is asked";
}

function allowedOnly(from: FactSources): string {
  const some =
    "allowed hosts only, through the proxy in HTTP_PROXY and ALL_PROXY; the registries " +
    "that the files of the directory call for are usually among them. Just try: a refusal is " +
    "reported after the output and says which host";
  if (!mayAskForMore(from)) return some;
  const asks = from.approval === "ask"
    ? ". The person is asked about other hosts as they come"
    : "";
  return `${some}${asks}. Set network: true with a reason only for what cannot use a proxy: the ` +
    "person is asked for the whole network";
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Without a time, which would break the cached prefix each minute. */
function dateOf(now: Date): string {
  const two = (part: number) => String(Math.abs(part)).padStart(2, "0");
  const east = -now.getTimezoneOffset();
  const zone = `UTC${east < 0 ? "-" : "+"}${two(Math.trunc(east / 60))}:${two(east % 60)}`;
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  return `${DAYS[now.getDay()]}, ${day} (${zone})`;
}

/**
 * Returns all facts at first, then the changed ones; undefined without changes.
 * @param before the facts told so far
 * @param status lines about the working tree, told with its branch
 */
export function factsText(
  facts: Facts,
  before: Readonly<Record<string, string>>,
  status: readonly string[] = [],
): Block | undefined {
  const names = Object.keys(LABELS) as FactName[];
  const changed = names.filter((name) => facts[name] !== before[name]);
  if (changed.length === 0) return undefined;
  const first = Object.keys(before).length === 0;
  const told = changed.map((name) => ({
    about: name,
    text: `${LABELS[name]}: ${facts[name] ?? "none"}`,
  }));
  // Told with the branch.
  const git = { about: "status", text: `Git status now: ${status.join("\n")}` };
  return contextBlock("session", [
    ...(first ? [] : [{ text: "This has changed since you were told:" }]),
    ...told,
    ...(status.length === 0 ? [] : [git]),
  ], "\n");
}

/** A text of svc's. */
export interface Block {
  text: string;
  /** The positions of its parts. */
  parts: ToldPart[];
}

/** Returns a block; nothing in it can end it. */
export function contextBlock(
  about: "session" | "rules",
  pieces: readonly { about?: string; text: string }[],
  separator: string,
): Block {
  const parts: ToldPart[] = [];
  let text = `<context about="${about}">`;
  for (const [n, piece] of pieces.entries()) {
    text += n === 0 ? "\n" : separator;
    const from = text.length;
    text += piece.text.replaceAll(/<(?=\/?context\b)/gi, "&lt;");
    const to = text.length + (n < pieces.length - 1 ? separator.length : 0);
    if (piece.about !== undefined) parts.push({ about: piece.about, from, to });
  }
  return { text: `${text}\n</context>`, parts };
}
