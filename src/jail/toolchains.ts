/**
 * Finds programs outside of the system's directories, so that commands can use them: programs and
 * packages, but nothing with credentials.
 */
import { basename, dirname, join } from "@std/path";
import { readDirIfAllowed } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import { pathDirs } from "../os/which.ts";
import { outermost } from "./covers.ts";

/** Downloads of toolchains that can read one cache only, below the home directory. */
export const REPLACED = [".cargo/git", ".cargo/registry", "go/pkg/mod", ".cache/deno"];

/** Below the home directory. Only parts of cargo, because its registry token is beside them. */
export const TOOLCHAINS = [
  ...REPLACED,
  ".m2/repository",
  ...[".cargo/bin", ".rustup", "go/bin"],
  ...[".deno/bin", ".bun/bin", ".nvm", ".volta", ".local/share/fnm"],
  ...[".pyenv", ".local/share/uv", ".local/share/pipx", ".local/share/virtualenvs"],
  ...[".rbenv", ".asdf", ".local/share/mise", ".sdkman/candidates"],
];

/** Their programs load files from the directories beside them. */
const PROGRAM_DIRECTORIES = new Set(["bin", "sbin", "shims"]);

/** Beside `<prefix>/bin`; its programs load files from them. */
const LIBRARIES = ["lib", "lib64", "libexec"];

/** The end of every PATH: programs rely on those of the system. */
const SYSTEM_PATH = ["/usr/bin", "/bin"];

/** Linked programs that are shown one by one; each is a mount. */
const LINKED_MAX = 100;

export interface Programs {
  /** Real paths that commands see read-only; some may not exist. */
  shown: readonly string[];
  /** The PATH for commands, with directory names as commands see them. */
  path: string;
  /** On the PATH, but not visible. */
  hidden: readonly string[];
  /** The directory of rustup's toolchains, if not below the home directory. */
  rustup_home?: string;
}

export interface ProgramsOptions {
  /** A real path. */
  home?: string;
  /** People's own files, nested ones too; real paths. */
  personal: readonly string[];
  /** Reports whether commands see a real path anyway. */
  isSeen(path: string): boolean;
}

/**
 * Finds the programs of an environment: well-known toolchains and the directories on its PATH, with
 * the programs that their links lead to. Homes and temporary directories are not shown, nor are
 * their parents.
 */
export function programsOf(
  environment: Record<string, string>,
  { home, personal, isSeen }: ProgramsOptions,
): Programs {
  const shown = new Set(home === undefined ? [] : TOOLCHAINS.map((name) => join(home, name)));
  const linked = new Set<string>();
  const path: string[] = [];
  const hidden: string[] = [];
  let rustup_home = realDirectory(environment.RUSTUP_HOME);
  for (const dir of pathDirs(environment.PATH)) {
    const real = realDirectory(dir);
    if (real === undefined) continue;
    if (!isSeen(real)) {
      if (holdsPeoplesFiles(real, personal)) {
        hidden.push(dir);
        continue;
      }
      for (const each of withLibraries(real, personal)) shown.add(each);
      for (const target of linkedFrom(real)) {
        if (!isSeen(target)) linked.add(target);
      }
      if (real.endsWith("/.cargo/bin")) rustup_home ??= realDirectory(join(real, "../../.rustup"));
    }
    // A path that contains a link may lead nowhere in the sandbox.
    const name = isSeen(real) && isSeen(dir) ? dir : real;
    if (!path.includes(name)) path.push(name);
  }
  for (const target of [...linked].slice(0, LINKED_MAX)) {
    for (const each of aroundProgram(target, personal)) shown.add(each);
  }
  if (rustup_home !== undefined && !isSeen(rustup_home)) shown.add(rustup_home);
  return { shown: outermost([...shown]), path: withSystem(path.join(":")), hidden, rustup_home };
}

/** Variables that name toolchains which are otherwise looked for in the home directory. */
const NAMED: readonly [name: string, variable: string][] = [
  [".rustup", "RUSTUP_HOME"],
  [".cargo/registry", "CARGO_HOME"],
  ["go/pkg/mod", "GOMODCACHE"],
  [".nvm", "NVM_DIR"],
  [".volta", "VOLTA_HOME"],
  [".pyenv", "PYENV_ROOT"],
  [".rbenv", "RBENV_ROOT"],
  [".asdf", "ASDF_DATA_DIR"],
  [".bun/bin", "BUN_INSTALL"],
];

/** Returns variables for commands whose home directory is another one than the person's. */
export function toolchainEnvironment(
  home: string,
  shown: readonly string[],
): Record<string, string> {
  const there = NAMED.filter(([name]) =>
    shown.includes(join(home, name)) && realDirectory(join(home, name)) !== undefined
  );
  return Object.fromEntries(there.map(([name, variable]) => {
    // These two name the directory above.
    const inner = variable === "CARGO_HOME" || variable === "BUN_INSTALL";
    return [variable, join(home, inner ? dirname(name) : name)];
  }));
}

/** Returns a PATH that ends with the system's directories. */
export function withSystem(path: string): string {
  const dirs = path.split(":").filter((dir) => dir !== "");
  return [...dirs, ...SYSTEM_PATH.filter((dir) => !dirs.includes(dir))].join(":");
}

/** Reports whether a directory is or contains a home or temporary directory. */
function holdsPeoplesFiles(real: string, personal: readonly string[]): boolean {
  return dirname(real) === "/home" || personal.some((each) => isWithin(each, real));
}

/** Returns a directory of programs and the directories they load files from. */
function withLibraries(real: string, personal: readonly string[]): string[] {
  const above = dirname(real);
  // Its programs are links into the packages beside it.
  if (basename(real) === ".bin" && basename(above) === "node_modules") return [above];
  if (!PROGRAM_DIRECTORIES.has(basename(real)) || holdsPeoplesFiles(above, personal)) return [real];
  return [real, ...LIBRARIES.map((name) => join(above, name))];
}

/** Returns what to show for a program outside of the PATH: alone, it may lack its libraries. */
function aroundProgram(real: string, personal: readonly string[]): string[] {
  const [prefix] = real.split("/node_modules/", 1);
  if (prefix !== real) return [`${prefix}/node_modules`];
  const dir = dirname(real);
  const is_installed = PROGRAM_DIRECTORIES.has(basename(dir)) && !holdsPeoplesFiles(dir, personal);
  return is_installed ? withLibraries(dir, personal) : [real];
}

/** Returns the real paths of the programs linked from a directory. */
function linkedFrom(directory: string): string[] {
  return readDirIfAllowed(directory).flatMap(({ name, isSymlink }) => {
    if (!isSymlink) return [];
    try {
      const real = Deno.realPathSync(join(directory, name));
      const { isFile, mode } = Deno.statSync(real);
      return isFile && ((mode ?? 0) & 0o111) !== 0 && !isWithin(real, directory) ? [real] : [];
    } catch {
      // A dead link.
      return [];
    }
  });
}

/** Returns the real path of a directory; undefined if it is none. */
export function realDirectory(path: string | undefined): string | undefined {
  if (path === undefined || !path.startsWith("/")) return undefined;
  try {
    const real = Deno.realPathSync(path);
    return Deno.statSync(real).isDirectory ? real : undefined;
  } catch {
    return undefined;
  }
}
