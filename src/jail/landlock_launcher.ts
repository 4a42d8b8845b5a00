/**
 * Starts a command under Landlock: a program of a few KB that limits itself and then becomes the
 * command's shell. It runs nothing where a step fails. Its rules are in its data: arguments can be
 * read by every user of a machine.
 *
 * Built here for the reasons of `forwarder.ts`: no suitable program is sure to be installed.
 */
import { handledRights, SINCE } from "./landlock.ts";
import { type Pointer, Program, type Value, writesFor } from "./machine_code.ts";

/** One entry of the kernel's allow-list. */
export interface LandlockRule {
  /** Absolute real path; one that a link is in now is not opened. */
  path: string;
  /** Bits, see {@linkcode rightsOf}. */
  rights: number;
  /** Whether the command does not start without it; others are left out if they are missing. */
  required?: boolean;
}

export interface LaunchOptions {
  /** Of the kernel, see {@linkcode landlockAbi}. */
  abi: number;
  rules: readonly LandlockRule[];
  /** For the system calls, see {@linkcode syscallFilter}. */
  filter: Uint8Array;
  /** Whether it may have the network. */
  network: boolean;
  /** The bits of the capabilities that it keeps. */
  capabilities: number;
  /** A descriptor that stays open beside standard input and output. */
  kept?: number;
}

/** A multiple of 4096; the program has no buffer. */
const BUFFER_BYTES = 4096;
const NOT_RUN = 126;
const [AT_FDCWD, FIRST_CLOSED] = [-100, 3];
const O_PATH_CLOEXEC = 0o12000000;
const O_CLOEXEC = 0o2000000;
/** RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS */
const NO_LINKS = 0x02 | 0x04;
const HOW_BYTES = 24;
/** The number under which the rules in the data know what was opened. */
const PARENT = 9;
const PATH_BENEATH = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const CAPABILITY_VERSION_3 = 0x20080522;
const SECCOMP_SET_MODE_FILTER = 1;
/** BIND_TCP and CONNECT_TCP; abstract sockets and signals */
const [TCP, SCOPES] = [3, 3];

/** In the table: rights, descriptor, address of the path. */
const [RIGHTS_AT, PARENT_AT, PATH_AT, ENTRY_BYTES] = [0, 8, 16, 24];

const PR_SET_CHILD_SUBREAPER = 36;

/**
 * Builds a program that has the kernel give it the processes that its children leave behind, and
 * then becomes its first argument.
 *
 * @returns `undefined` for an unsupported machine
 */
export function reaper(arch = Deno.build.arch): Uint8Array<ArrayBuffer> | undefined {
  if (!writesFor(arch)) return undefined;
  const program = new Program(arch, BUFFER_BYTES)
    .call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).jump("shell", "negative")
    .execArguments();
  say(program, "shell");
  return program.elf();
}

/** What could not be done, for a message. */
const STEPS = {
  close: "its descriptors could not be closed",
  ruleset: "the kernel made no Landlock rules",
  place: "its directory is missing, or a link is in its path",
  rule: "the kernel refused a Landlock rule",
  privileges: "its privileges could not be dropped",
  restrict: "the kernel did not apply the Landlock rules",
  filter: "the kernel refused the filter of system calls",
  shell: "there was no process or shell for it",
} as const;

type Step = keyof typeof STEPS;

/**
 * Builds the program. Its first argument is the program to become, the others are that one's.
 *
 * @returns `undefined` for an unsupported machine
 */
export function launcher(
  options: LaunchOptions,
  arch = Deno.build.arch,
): Uint8Array<ArrayBuffer> | undefined {
  if (!writesFor(arch)) return undefined;
  const { abi, rules, filter, network, capabilities, kept } = options;
  const program = new Program(arch, BUFFER_BYTES);
  const check = (step: Step) => program.jump(step, "negative");
  const attributes = rulesetAttributes(abi, network);
  program
    .data("attributes", attributes)
    .data("how", words64(O_PATH_CLOEXEC, 0, NO_LINKS))
    .data("header", words32(CAPABILITY_VERSION_3, 0))
    .data("capabilities", words32(capabilities, capabilities, 0, 0, 0, 0))
    .data("filter", filter)
    .data("filter program", words64(filter.length / 8, 0), [{ at: 8, data: "filter" }]);
  const { table, pointers, paths } = tableOf(rules);
  program.data("paths", paths).data("rules", table, pointers);

  closeAll(program, kept, () => check("close"));
  program
    .call("landlock_create_ruleset", { data: "attributes" }, attributes.length, 0).keep("a");
  check("ruleset");
  const required = rules.filter((rule) => rule.required).length;
  addRules(program, "required", { from: { data: "rules" }, count: required, missing: "place" });
  addRules(program, "other", { count: rules.length - required });
  program.call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  check("privileges");
  program.call("capset", { data: "header" }, { data: "capabilities" });
  check("privileges");
  program.call("landlock_restrict_self", "a", 0);
  check("restrict");
  program.call("seccomp", SECCOMP_SET_MODE_FILTER, 0, { data: "filter program" });
  check("filter");
  program.execArguments();
  sayAndExit(program);
  return program.elf();
}

function closeAll(program: Program, kept: number | undefined, check: () => void): void {
  const ranges: [Value, Value][] = kept === undefined
    ? [[FIRST_CLOSED, -1]]
    : [[FIRST_CLOSED, kept - 1], [kept + 1, -1]];
  for (const [first, last] of ranges) {
    if (last === FIRST_CLOSED - 1) continue;
    program.call("close_range", first, last, 0);
    check();
  }
}

/** Adds a number of rules from the table. Without `from`, those after the ones before. */
function addRules(
  program: Program,
  name: string,
  { from, count, missing }: { from?: { data: string }; count: number; missing?: Step },
): void {
  if (from !== undefined) program.set("at", from);
  if (count === 0) return;
  const next = `${name} next`;
  program.set("buffer", count)
    .label(name)
    .load("b", "at", PATH_AT)
    .call("openat2", AT_FDCWD, "b", { data: "how" }, HOW_BYTES)
    .jump(missing ?? next, "negative").keep("b")
    .call("dup3", "b", PARENT, O_CLOEXEC).jump("rule", "negative")
    .call("close", "b")
    .call("landlock_add_rule", "a", PATH_BENEATH, "at", 0).jump("rule", "negative")
    .label(next)
    .increase("at", ENTRY_BYTES)
    .set("count", 1).recall("count").subtract("buffer").recall("buffer")
    .jump(name, "positive");
}

function sayAndExit(program: Program): void {
  // The steps jump here; a failed execve runs on into the first one.
  for (const step of ["shell", ...Object.keys(STEPS).filter((it) => it !== "shell")] as Step[]) {
    say(program, step);
  }
}

function say(program: Program, step: Step): void {
  const text = new TextEncoder().encode(`svc: the command did not start: ${STEPS[step]}\n`);
  program.data(`${step} text`, text)
    .label(step)
    .call("write", 2, { data: `${step} text` }, text.length)
    .call("exit", NOT_RUN);
}

function rulesetAttributes(abi: number, network: boolean): Uint8Array {
  return words64(
    handledRights(abi),
    ...(abi >= SINCE.tcp ? [network ? 0 : TCP] : []),
    ...(abi >= SINCE.scopes ? [SCOPES] : []),
  );
}

/** Puts the required rules first. */
function tableOf(
  rules: readonly LandlockRule[],
): { table: Uint8Array; pointers: Pointer[]; paths: Uint8Array } {
  const ordered = [...rules].sort((one, other) => Number(!one.required) - Number(!other.required));
  const table = new DataView(new ArrayBuffer(ordered.length * ENTRY_BYTES));
  const texts = ordered.map(({ path }) => new TextEncoder().encode(`${path}\0`));
  const paths = new Uint8Array(texts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  const pointers = ordered.map(({ rights }, n): Pointer => {
    const entry = n * ENTRY_BYTES;
    table.setBigUint64(entry + RIGHTS_AT, BigInt(rights), true);
    table.setInt32(entry + PARENT_AT, PARENT, true);
    paths.set(texts[n], offset);
    const pointer = { at: entry + PATH_AT, data: "paths", offset };
    offset += texts[n].length;
    return pointer;
  });
  return { table: new Uint8Array(table.buffer), pointers, paths };
}

function words64(...values: number[]): Uint8Array {
  return new Uint8Array(new BigUint64Array(values.map(BigInt)).buffer);
}

function words32(...values: number[]): Uint8Array {
  return new Uint8Array(new Uint32Array(values).buffer);
}
