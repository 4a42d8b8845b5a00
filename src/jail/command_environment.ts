import { type Programs, withSystem } from "./toolchains.ts";

/** Returns variables that control behaviour and reveal nothing about the person. */
export function commandEnvironment(
  environment: Record<string, string>,
  { shell, home, workdir, programs, git = [], last = [] }: {
    shell: string;
    home: string;
    workdir: string;
    programs?: Programs;
    /** More settings of git. */
    git?: readonly (readonly [key: string, value: string])[];
    /** At the end of the PATH. */
    last?: readonly string[];
  },
): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (PASSED.has(name) || name.startsWith("LC_")) chosen[name] = value;
  }
  return {
    ...chosen,
    ...commandPath(programs?.path ?? chosen.PATH, last),
    ...(programs?.rustup_home === undefined ? {} : { RUSTUP_HOME: programs.rustup_home }),
    HOME: home,
    PWD: workdir,
    SHELL: shell,
    TERM: "dumb",
    NO_COLOR: "1",
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    // Commands cannot write a repository's configuration, as creating a branch would.
    ...gitConfig([["branch.autoSetupMerge", "false"], ...git]),
  };
}

function gitConfig(
  settings: readonly (readonly [key: string, value: string])[],
): Record<string, string> {
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ]),
  ]);
}

/** On Windows, the system finds its own programs. */
function commandPath(path = "", last: readonly string[]): Record<string, string> {
  if (Deno.build.os === "windows") return {};
  return { PATH: [withSystem(path || "/usr/local/bin"), ...last].join(":") };
}

const PASSED = new Set([
  "PATH",
  "LANG",
  "TZ",
  "USER",
  "LOGNAME",
  // Without these, Windows finds neither programs nor its own libraries.
  ...(Deno.build.os === "windows"
    ? ["Path", "PATHEXT", "SystemRoot", "SystemDrive", "ComSpec", "TEMP", "TMP", "USERPROFILE"]
    : []),
]);
