/** The program and home of a unit. */
import { dirname } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import type { Env, HomePaths } from "../../os/paths.ts";

/** They select a daemon's home (contract.md section 1). */
const HOME_VARIABLES = ["SVC_HOME", "SVC_RUNTIME_DIR"];

/** A service manager's PATH lacks programs that a person installed. */
const TAKEN_OVER = [...HOME_VARIABLES, "PATH"];

/** Returns the variables that a unit keeps. No keys: the unit's file is not private. */
export function unitEnvironment(env: Env): Map<string, string> {
  const set = TAKEN_OVER.map((name) => [name, env(name)] as const);
  return new Map(set.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** Read from an installed unit. */
export interface UnitProgram {
  /** Undefined if unknown. */
  program?: string;
  environment: ReadonlyMap<string, string>;
}

/**
 * Returns the binary for a unit: this one or, from source, the installed one.
 * @throws {SvcError} conflict when there is none
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
 * The installed binary has its own name, even if this process knows it by another: an update may
 * have moved the file, and a link may lead there.
 */
function ownBinary({ binary }: HomePaths): string | undefined {
  const own = Deno.build.standalone ? Deno.execPath() : undefined;
  const installed = realPath(binary);
  if (installed === undefined || own === undefined) return own ?? (installed && binary);
  const is_installed = installed === realPath(own) ||
    realPath(dirname(own)) === realPath(dirname(binary));
  return is_installed ? binary : own;
}

/** Reports whether a unit is for the home of `env`. */
export function isForHome({ environment }: UnitProgram, env: Env): boolean {
  return HOME_VARIABLES.every((name) => environment.get(name) === env(name));
}

/** A user has one unit; that of another home is not changed. @throws {SvcError} conflict. */
export function requireForHome(unit: UnitProgram, env: Env): void {
  if (isForHome(unit, env)) return;
  throw new SvcError("conflict", `the installed unit belongs to ${homeOf(unit)}`, {
    hint: "run `svc serve --uninstall` with the SVC_HOME and SVC_RUNTIME_DIR of that installation",
  });
}

/** Reports whether a unit runs this binary for this home. */
export function isCurrent(unit: UnitProgram, env: Env, paths: HomePaths): boolean {
  if (unit.program === undefined || !isForHome(unit, env)) return false;
  const program = realPath(unit.program);
  const own = ownBinary(paths);
  return program !== undefined && own !== undefined && program === realPath(own);
}

/** Explains why a unit is not current. */
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
