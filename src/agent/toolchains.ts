/**
 * What a command needs of the programming languages that people install into their home directory,
 * where otherwise nothing of theirs is seen: programs and packages, nothing that holds credentials.
 */
import { basename, join } from "@std/path";
import { isWithin } from "../platform/paths.ts";
import { pathDirs } from "../platform/which.ts";

/** Below the home directory. Of cargo only parts: beside them lies the token of its registry. */
const TOOLCHAINS = [
  ...[".cargo/bin", ".cargo/git", ".cargo/registry", ".rustup"],
  ...["go/bin", "go/pkg/mod"],
  ...[".deno/bin", ".cache/deno", ".bun/bin", ".nvm", ".volta", ".local/share/fnm"],
  ...[".pyenv", ".local/share/uv", ".local/share/pipx", ".local/share/virtualenvs"],
  ...[".rbenv", ".asdf", ".local/share/mise", ".sdkman/candidates", ".m2/repository"],
];

/** Directories of programs that may be seen wherever the PATH finds them. */
const PROGRAM_DIRECTORIES = new Set(["bin", "sbin", "shims"]);

/**
 * The toolchains of a person, whether they are there or not.
 *
 * @param home real path of the home directory.
 * @param path the PATH, of which directories of programs in `home` are toolchains too.
 */
export function toolchainsOf(home: string, path = ""): string[] {
  const programs = pathDirs(path)
    .filter((dir) => isWithin(dir, home) && PROGRAM_DIRECTORIES.has(basename(dir)));
  const known = TOOLCHAINS.map((name) => join(home, name));
  return [...known, ...programs.filter((dir) => !known.some((it) => isWithin(dir, it)))];
}
