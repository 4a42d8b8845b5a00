/**
 * Finds programs that people installed outside of the system's directories, so that commands can
 * use them: programs and packages, but nothing that contains credentials.
 */
import { basename, dirname, join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import { pathDirs } from "../os/which.ts";

/** What toolchains fetched, below the home directory. */
export const CACHES = [
  ...[".cargo/git", ".cargo/registry", "go/pkg/mod", ".cache/deno", ".m2/repository"],
];

/**
 * Paths below the home directory. Only parts of cargo, because its registry token is beside them.
 */
export const TOOLCHAINS = [
  ...CACHES,
  ...[".cargo/bin", ".rustup", "go/bin"],
  ...[".deno/bin", ".bun/bin", ".nvm", ".volta", ".local/share/fnm"],
  ...[".pyenv", ".local/share/uv", ".local/share/pipx", ".local/share/virtualenvs"],
  ...[".rbenv", ".asdf", ".local/share/mise", ".sdkman/candidates"],
];

/** Names of program directories that may be visible wherever the PATH finds them. */
const PROGRAM_DIRECTORIES = new Set(["bin", "sbin", "shims"]);

/** Directories beside `<prefix>/bin` from which its programs load files. */
const LIBRARIES = ["lib", "lib64", "libexec"];

/** Programs outside of the system's directories. */
export interface Programs {
  /** Real paths of directories that commands see read-only; some may not exist. */
  directories: readonly string[];
  /** The PATH for commands: directories by the names under which commands see them. */
  path: string;
  /** Directories on the PATH that they cannot see. */
  hidden: readonly string[];
  /** Where rustup keeps its toolchains, if not below the home directory. */
  rustup_home?: string;
}

/** Options of {@linkcode programsOf}. */
export interface ProgramsOptions {
  /** Real path of the home directory. */
  home?: string;
  /** Directories of people's own files; real paths. */
  personal: readonly string[];
  /** Reports whether commands see a real path anyway. */
  isSeen(path: string): boolean;
}

/** Finds the programs of an environment: well-known toolchains and the directories on its PATH. */
export function programsOf(
  environment: Record<string, string>,
  { home, personal, isSeen }: ProgramsOptions,
): Programs {
  const directories = new Set(home === undefined ? [] : TOOLCHAINS.map((name) => join(home, name)));
  const path: string[] = [];
  const hidden: string[] = [];
  let rustup_home = realDirectory(environment.RUSTUP_HOME);
  for (const dir of pathDirs(environment.PATH)) {
    const real = realDirectory(dir);
    if (real === undefined) continue;
    if (!isSeen(real)) {
      const found = shownFor(real, home, personal);
      if (found.length === 0) {
        hidden.push(dir);
        continue;
      }
      for (const each of found) directories.add(each);
      if (real.endsWith("/.cargo/bin")) rustup_home ??= realDirectory(join(real, "../../.rustup"));
    }
    // A path that contains a link may lead nowhere in the sandbox.
    const name = isSeen(real) && isSeen(dir) ? dir : real;
    if (!path.includes(name)) path.push(name);
  }
  if (rustup_home !== undefined && !isSeen(rustup_home)) directories.add(rustup_home);
  return { directories: outermost([...directories]), path: path.join(":"), hidden, rustup_home };
}

/** Returns what is shown for a directory on the PATH; empty when it stays hidden. */
function shownFor(real: string, home: string | undefined, personal: readonly string[]): string[] {
  const name = basename(real);
  const above = dirname(real);
  // The programs in it are links into the packages beside it.
  if (name === ".bin" && basename(above) === "node_modules") return [above];
  if (PROGRAM_DIRECTORIES.has(name)) {
    const libraries = above === home || personal.includes(above) ? [] : LIBRARIES;
    return [real, ...libraries.map((each) => join(above, each))];
  }
  const holdsPersonal = personal.some((each) => isWithin(each, real) || isWithin(real, each));
  return holdsPersonal || dirname(above) === above ? [] : [real];
}

/** Returns the paths that lie in no other of them. */
function outermost(paths: readonly string[]): string[] {
  return paths.filter((path) => !paths.some((each) => each !== path && isWithin(path, each)));
}

/** Returns the real path of a directory; undefined when it is not a directory. */
export function realDirectory(path: string | undefined): string | undefined {
  if (path === undefined || !path.startsWith("/")) return undefined;
  try {
    const real = Deno.realPathSync(path);
    return Deno.statSync(real).isDirectory ? real : undefined;
  } catch {
    return undefined;
  }
}
