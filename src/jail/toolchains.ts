/**
 * What a command needs of the programs that people install outside of the system's directories, where
 * otherwise nothing of theirs is seen: programs and packages, nothing that holds credentials.
 */
import { basename, dirname, join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import { pathDirs } from "../os/which.ts";

/** Below the home directory. Of cargo only parts: beside them lies the token of its registry. */
export const TOOLCHAINS = [
  ...[".cargo/bin", ".cargo/git", ".cargo/registry", ".rustup"],
  ...["go/bin", "go/pkg/mod"],
  ...[".deno/bin", ".cache/deno", ".bun/bin", ".nvm", ".volta", ".local/share/fnm"],
  ...[".pyenv", ".local/share/uv", ".local/share/pipx", ".local/share/virtualenvs"],
  ...[".rbenv", ".asdf", ".local/share/mise", ".sdkman/candidates", ".m2/repository"],
];

/** Directories of programs that may be seen wherever the PATH finds them. */
const PROGRAM_DIRECTORIES = new Set(["bin", "sbin", "shims"]);

/** What programs in `<prefix>/bin` load from beside it. */
const LIBRARIES = ["lib", "lib64", "libexec"];

/** Programs outside of the system's directories. */
export interface Programs {
  /** Real paths of directories that commands see, to read; some may not exist. */
  directories: readonly string[];
  /** The PATH of commands: directories that they see, by names that they see them by. */
  path: string;
  /** Directories of the PATH that they do not see. */
  hidden: readonly string[];
  /** Where rustup keeps its toolchains, where that is not below the home directory. */
  rustup_home?: string;
}

/** What {@linkcode programsOf} goes by. */
export interface ProgramsOptions {
  /** Real path of the home directory. */
  home?: string;
  /** Where people keep their own files; all are real paths. */
  personal: readonly string[];
  /** Whether commands see a real path anyway. */
  isSeen(path: string): boolean;
}

/** Finds the programs of an environment: well-known toolchains and what its PATH names. */
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
    // A name that leads through a link may lead nowhere in the sandbox.
    const name = isSeen(real) && isSeen(dir) ? dir : real;
    if (!path.includes(name)) path.push(name);
  }
  if (rustup_home !== undefined && !isSeen(rustup_home)) directories.add(rustup_home);
  return { directories: outermost([...directories]), path: path.join(":"), hidden, rustup_home };
}

/** What is seen for a directory of the PATH; empty where it stays hidden. */
function shownFor(real: string, home: string | undefined, personal: readonly string[]): string[] {
  const name = basename(real);
  const above = dirname(real);
  // The programs in it are links to the packages beside it.
  if (name === ".bin" && basename(above) === "node_modules") return [above];
  if (PROGRAM_DIRECTORIES.has(name)) {
    const libraries = above === home || personal.includes(above) ? [] : LIBRARIES;
    return [real, ...libraries.map((each) => join(above, each))];
  }
  const holdsPersonal = personal.some((each) => isWithin(each, real) || isWithin(real, each));
  return holdsPersonal || dirname(above) === above ? [] : [real];
}

/** The paths that lie in no other of them. */
function outermost(paths: readonly string[]): string[] {
  return paths.filter((path) => !paths.some((each) => each !== path && isWithin(path, each)));
}

/** The real path of a directory; undefined when it is none. */
export function realDirectory(path: string | undefined): string | undefined {
  if (path === undefined || !path.startsWith("/")) return undefined;
  try {
    const real = Deno.realPathSync(path);
    return Deno.statSync(real).isDirectory ? real : undefined;
  } catch {
    return undefined;
  }
}
