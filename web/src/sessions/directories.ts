/** The directories that are offered while somebody types. */
import type { Result } from "../rpc/api.ts";
import type { Option } from "../ui/picker.tsx";
import { hasWords } from "../ui/search_box.tsx";
import { nameOf } from "./groups.ts";

type Listing = Result<"daemon.list_dirs">;

/** The most that are offered at once. */
const OFFERED = 100;
/** A path, up to its last separator and after it. Elsewhere than on Windows a name may have `\`. */
const POSIX = /^(\/(?:.*\/)?)([^/]*)$/s;
const WINDOWS = /^([A-Za-z]:[\\/](?:.*[\\/])?)([^\\/]*)$/s;

/**
 * Offers recent directories, then those of the machine. A path is completed as in a shell: what is
 * below it, and the directory itself.
 *
 * @param list asks the daemon; without a path, for where it begins
 * @throws as `list`, for a path that cannot be read
 */
export async function directoriesFor(
  query: string,
  recent: readonly string[],
  list: (path?: string, hidden?: boolean) => Promise<Listing>,
): Promise<Option[]> {
  const typed = query.trim();
  const [, above, begin] = (typed.startsWith("/") ? POSIX : WINDOWS).exec(typed) ?? [];
  if (above === undefined) {
    const known = recent.filter((path) => hasWords(typed, [path])).map((path) =>
      directory(path, "folder")
    );
    const start = await list();
    const others = start.directories.filter(({ name, path }) =>
      hasWords(typed, [name]) && !recent.includes(path)
    );
    return [...known, ...inside(others)].slice(0, OFFERED);
  }
  const { path, directories } = await list(above, begin.startsWith("."));
  const itself = begin === ""
    ? [directory(path)]
    : directories.filter(({ name }) => name === begin).map(({ path }) => directory(path));
  const below = directories.filter(({ name }) =>
    name !== begin && name.toLowerCase().startsWith(begin.toLowerCase())
  );
  return [...itself, ...inside(below)].slice(0, OFFERED);
}

function directory(path: string, icon: Option["icon"] = "check"): Option {
  return { value: path, label: nameOf(path), detail: path, icon };
}

function inside(directories: Listing["directories"]): Option[] {
  return directories.map(({ name, path, repository }) => ({
    value: path,
    label: name,
    icon: repository ? "repository" : "folder",
    goes_on: path + (path.startsWith("/") ? "/" : "\\"),
  }));
}
