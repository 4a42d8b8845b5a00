/** What a unit runs, and for which home. */
import { dirname } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import type { Env, HomePaths } from "../../os/paths.ts";

/** The variables that say where a daemon's home is (contract.md section 1). */
const HOME_VARIABLES = ["SVC_HOME", "SVC_RUNTIME_DIR"];

/** A service manager's own PATH has none of what a person installed for themselves. */
const TAKEN_OVER = [...HOME_VARIABLES, "PATH"];

/**
 * What a unit takes over from the environment that it is installed from. No keys: a unit's file is
 * not a private one.
 */
export function unitEnvironment(env: Env): Map<string, string> {
  const set = TAKEN_OVER.map((name) => [name, env(name)] as const);
  return new Map(set.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** What a unit that stands says it runs. */
export interface UnitProgram {
  /** The binary, as far as it can be told. */
  program?: string;
  environment: ReadonlyMap<string, string>;
}

/**
 * The binary that a unit is to run: the one that asks; from source, the installed one.
 *
 * @throws {SvcError} conflict when there is none.
 */
export function unitBinary(paths: HomePaths): string {
  const binary = ownBinary(paths);
  if (binary !== undefined) return binary;
  throw new SvcError(
    "conflict",
    `svc runs from source, and there is no binary at ${paths.binary}`,
    { hint: "a background unit needs a binary: install one, or run a compiled svc" },
  );
}

/**
 * The installed binary goes by its own name whichever name this process knows it by: an update has
 * moved what a running daemon was started from out of its place, and a link may lead there.
 */
function ownBinary({ binary }: HomePaths): string | undefined {
  const own = Deno.build.standalone ? Deno.execPath() : undefined;
  const installed = realPath(binary);
  if (installed === undefined || own === undefined) return own ?? (installed && binary);
  const is_installed = installed === realPath(own) ||
    realPath(dirname(own)) === realPath(dirname(binary));
  return is_installed ? binary : own;
}

/** Whether a unit is for the home that `env` points at. */
export function isForHome({ environment }: UnitProgram, env: Env): boolean {
  return HOME_VARIABLES.every((name) => environment.get(name) === env(name));
}

/**
 * One user has one unit; that of another home is not touched.
 *
 * @throws {SvcError} conflict.
 */
export function requireForHome(unit: UnitProgram, env: Env): void {
  if (isForHome(unit, env)) return;
  throw new SvcError("conflict", `the installed unit belongs to ${homeOf(unit)}`, {
    hint: "run `svc serve --uninstall` with the SVC_HOME and SVC_RUNTIME_DIR of that installation",
  });
}

/** Whether the unit runs the binary that asks, for the home that asks. */
export function isCurrent(unit: UnitProgram, env: Env, paths: HomePaths): boolean {
  if (unit.program === undefined || !isForHome(unit, env)) return false;
  const program = realPath(unit.program);
  const own = ownBinary(paths);
  return program !== undefined && own !== undefined && program === realPath(own);
}

/** What to tell of a unit that does not run the binary that asks, for the home that asks. */
export function staleHint(unit: UnitProgram, env: Env): string {
  return isForHome(unit, env)
    ? "the unit runs another binary; `svc serve --install` switches it to this one"
    : `the unit belongs to ${homeOf(unit)}`;
}

function homeOf({ environment }: UnitProgram): string {
  const set = HOME_VARIABLES.filter((name) => environment.has(name));
  if (set.length === 0) return "the default home, ~/.svc";
  return set.map((name) => `${name}=${environment.get(name)}`).join(" ");
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}
