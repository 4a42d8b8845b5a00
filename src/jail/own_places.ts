/**
 * Where commands keep files if their sandbox has no file system of its own: a directory stands for
 * `/tmp` and the home directory, by its real path.
 */
import { dirname, join } from "@std/path";
import { removeTree } from "../os/remove_tree.ts";
import { exists } from "../os/files.ts";
import { cacheEnvironment, type CommandSpace, programDirs } from "./command_space.ts";
import type { GrantedPlaces } from "./granted_places.ts";
import { toolchainEnvironment } from "./toolchains.ts";

/** The places of one command. */
export interface OwnPlaces {
  writable: readonly string[];
  readable: readonly string[];
  /** Its home directory. */
  home: string;
  /** The end of its PATH. */
  programs: readonly string[];
  /** Leads programs to them. */
  env: Record<string, string>;
  /** Removes what only this command had. */
  remove(): Promise<void>;
}

/** Whose they are. */
interface Person {
  /** Real path. */
  home: string;
  /** Programs that commands see, see {@linkcode Programs}. */
  shown: readonly string[];
  workdir: string;
}

/** Makes the places of commands. */
export class PlaceMaker {
  #written: { path: string; text: string } | undefined;

  /** @throws {Error} for instance when the disk is full */
  make(
    space: CommandSpace | undefined,
    network: boolean,
    { home, shown, workdir }: Person,
  ): OwnPlaces {
    const tmp = space?.tmp ?? makeScratch();
    const caches = space?.caches;
    const git_config = this.#identity(space);
    const home_here = join(tmp, OWN_HOME);
    makeDirectory(home_here);
    const used = {
      npm: exists(join(workdir, "package-lock.json")),
      nvm: exists(join(home, ".nvm")),
    };
    return {
      writable: [tmp, ...(caches === undefined ? [] : [caches])],
      readable: git_config === undefined ? [] : [git_config],
      home: home_here,
      programs: caches === undefined ? [] : programDirs(caches),
      env: {
        ...(git_config === undefined ? {} : { GIT_CONFIG_SYSTEM: git_config }),
        TMPDIR: tmp,
        TMP: tmp,
        TEMP: tmp,
        ...toolchainEnvironment(home, shown),
        ...(caches === undefined ? {} : cacheEnvironment(home, { network, ...used, at: caches })),
      },
      async remove() {
        if (space === undefined) await removeScratch(tmp);
      },
    };
  }

  /** Keeps the person's name for git in a file, beside the directories of sessions. */
  #identity(space: CommandSpace | undefined): string | undefined {
    if (space?.git_config === undefined) return undefined;
    const path = join(dirname(dirname(space.tmp)), "gitconfig");
    const text = space.git_config;
    if (this.#written?.path !== path || this.#written.text !== text) {
      const made = `${path}.${crypto.randomUUID()}`;
      Deno.writeTextFileSync(made, text, { createNew: true, mode: 0o600 });
      Deno.renameSync(made, path);
      this.#written = { path, text };
    }
    return path;
  }
}

/** Makes a directory of temporary files for one command. */
export function makeScratch(): string {
  return Deno.realPathSync(Deno.makeTempDirSync({ prefix: "svc-command-" }));
}

/** What cannot be removed stays. What no command has used is gone when this returns. */
export async function removeScratch(path: string): Promise<void> {
  try {
    for (const each of [join(path, OWN_HOME), path]) if (exists(each)) Deno.removeSync(each);
  } catch {
    await removeTree(path).catch(() => {});
  }
}

/** In a directory of temporary files. */
const OWN_HOME = "home";

/** A command may have put something else there. Nothing is written below it from outside. */
function makeDirectory(path: string): void {
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/** A command cannot connect to Unix sockets, so no grant opens one. */
export function withoutSockets(places: GrantedPlaces): GrantedPlaces {
  const there = places.there.filter((grant) => grant === "gpu" || grant === "usb");
  return { ...places, there, sockets: [] };
}
