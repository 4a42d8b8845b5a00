/** Sandboxes and file tool units for a daemon's work. */
import { dirname, join } from "@std/path";
import { Opener } from "../base/lazy.ts";
import type { ToolParts } from "../agent/tool.ts";
import type { DecideHost, WayOut } from "../agent/way_out.ts";
import type { Config } from "../config/config.ts";
import type { Granted, Sandbox, SandboxScope } from "../jail/sandbox.ts";
import type { Checkout } from "../jail/git_around.ts";
import { checkoutAbove } from "../jail/checkout_above.ts";
import type { UnitPool } from "../jail/unit/pool.ts";
import type { CommandSpace, CommandSpaces } from "../jail/command_space.ts";
import { ensurePrivateDir } from "../os/files.ts";
import type { Log } from "../os/log.ts";
import { isWithin } from "../os/paths.ts";
import { removeTree } from "../os/remove_tree.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { AddedRoot } from "../jail/added_directories.ts";
import { isStill, usableAdded } from "../session/usable_added.ts";
import type { Hub } from "../session/hub.ts";
import type { SessionState } from "../session/session_state.ts";
import type { OpenFeatures } from "../verbs/feature.ts";
import type { LoginPath } from "./login_path.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { WaysOut } from "./way_out.ts";

/** Idle time before a unit is closed. */
const UNIT_IDLE_MS = 30_000;

type NetworkOf = Pick<SessionState, "network" | "trust">;
type AddedTo = Pick<SessionState, "workdir" | "added_dirs">;

interface JailParts {
  config(): Config;
  hub(): Hub;
  features(): OpenFeatures;
  /** SVC_HOME. */
  svc_home: string;
  /** Directory of the daemon's own files, hidden from tools. */
  runtime_dir: string;
  /** Directory for files that outlive a command. */
  spaces: string;
  /** Real path of the person's home, if any. */
  home: string | undefined;
  ports(): number[];
  login: LoginPath;
  log: Log;
  /** Called when the last busy unit comes to rest. */
  onRest(): void;
}

/** The sandbox of commands and the units of file tools, created lazily. */
export class Jail implements Disposable {
  readonly #parts: JailParts;
  #pool: UnitPool | undefined;
  #sandboxes: Sandboxes | undefined;
  readonly #units: Opener<UnitPool>;
  readonly #loaded = new Opener(async () => {
    const { Sandboxes } = await import("./sandboxes.ts");
    const { config, login, svc_home, runtime_dir } = this.#parts;
    // Commands have the same programs from the first one on.
    await login.ready;
    const { path } = login;
    return this.#sandboxes = new Sandboxes({
      config,
      path,
      writable: this.writable,
      closed: [svc_home, runtime_dir],
    });
  });

  readonly #spaces = new Opener(() => this.#openSpaces());
  readonly #ways_out = new Opener<WaysOut>(async () => {
    const { WaysOut } = await import("./way_out.ts");
    const { config, spaces, ports } = this.#parts;
    ensurePrivateDir(spaces);
    const directory = join(spaces, "proxies");
    const { sandbox, writable, networkOf } = this;
    return new WaysOut({ config, networkOf, sandbox, writable, directory, ports });
  });

  constructor(parts: JailParts) {
    this.#parts = parts;
    this.#units = new Opener(async () => {
      const { UnitPool } = await import("../jail/unit/pool.ts");
      const { units: max } = parts.config().sandbox;
      const { home, onRest } = parts;
      return this.#pool = new UnitPool({ max, idle_ms: UNIT_IDLE_MS, home, onRest });
    });
  }

  async #openSpaces(): Promise<CommandSpaces> {
    const [{ CommandSpaces }, { GitIdentity }] = await Promise.all([
      import("../jail/command_space.ts"),
      import("../jail/git_identity.ts"),
    ]);
    const { hub, spaces, home, log } = this.#parts;
    const identity = new GitIdentity(home);
    return new CommandSpaces({
      root: spaces,
      openSessions: async () => (await hub().list(false)).map(({ id }) => id),
      turn: async () => (await this.sandbox()).starts.next(),
      gitConfig: () => identity.config(this.writable()),
      onError(path, error) {
        log.warn("cannot remove a directory of commands", { path, error: messageOf(error) });
      },
    });
  }

  /** Loads what {@linkcode isShown} needs. */
  async load(): Promise<void> {
    await this.#loaded.get();
  }

  get at_rest(): boolean {
    return this.#pool?.at_rest ?? true;
  }

  readonly units = (): Promise<UnitPool> => this.#units.get();
  readonly sandbox = async (): Promise<Sandbox> => (await this.#loaded.get()).confined.get();
  /** Runs commands that a person allowed outside of the sandbox. */
  readonly unconfined = async (): Promise<Sandbox> => (await this.#loaded.get()).unconfined.get();

  /** Real paths that sessions can write. */
  readonly writable = (): string[] => {
    const { hub, features } = this.#parts;
    const added = hub().addedWritable();
    return [...hub().workdirs(), ...added, ...features().each("writable").flat()];
  };

  /** Paths to hide from tools in a workdir. */
  readonly hidden = (workdir: string): string[] => {
    const { hub, features, runtime_dir } = this.#parts;
    return [...hub().hiddenFrom(workdir), runtime_dir, ...features().each("hides", workdir).flat()];
  };

  /** The added directories that a session's calls may use now. */
  readonly added = ({ workdir, added_dirs }: AddedTo): AddedRoot[] =>
    usableAdded(added_dirs, workdir)
      .map((it) => ({ ...it, hidden: this.hidden(it.path).filter((path) => path !== it.path) }));

  /** As {@linkcode ToolParts.asked}. */
  readonly asked: ToolParts["asked"] = async (session_id, paths) => {
    if (paths.length === 0) return [];
    const { workdir, added_dirs } = (await this.#parts.hub().get(session_id)).state;
    const { askedPaths } = await import("../session/added_dirs.ts");
    const { svc_home: home, home: person_home } = this.#parts;
    const added = usableAdded(added_dirs, workdir);
    const asked = await askedPaths(paths, added, { workdir, home, person_home });
    for (const { path } of asked) {
      if (!this.hidden(path).some((hidden) => isWithin(path, hidden))) continue;
      throw new SvcError(
        "validation",
        `cannot ask for ${path}: svc or another session works there`,
      );
    }
    return asked;
  };

  /** As {@linkcode ToolParts.opened}. */
  readonly opened: ToolParts["opened"] = (paths) =>
    paths.map((it) => {
      if (isStill(it.path, { files: true })) return { ...it, hidden: this.hidden(it.path) };
      throw new SvcError(
        "conflict",
        `${it.path} is not there, is no file or directory, or has changed`,
        {
          hint: `to make a file, ask for its directory, ${dirname(it.path)}, with access "write"`,
        },
      );
    });

  readonly scope = (workdir: string): SandboxScope => ({
    workdir,
    hidden: this.hidden(workdir),
    network: this.#parts.config().sandbox.network === true,
  });

  /** What commands of a session reach: nothing, allowed hosts or all. */
  readonly networkOf = ({ network, trust }: NetworkOf): boolean | "allowed" =>
    network === undefined || trust !== "trusted"
      ? this.#parts.config().sandbox.network
      : network === "allowed"
      ? network
      : network === "on";

  /** Directories for a session's commands; undefined without a sandbox. */
  readonly space = async (session_id: string): Promise<CommandSpace | undefined> => {
    if ((await this.sandbox()).kind === "none") return undefined;
    const { workdir, trust } = (await this.#parts.hub().get(session_id)).state;
    const trusted = trust === "trusted";
    const space = await (await this.#spaces.get()).of({ session_id, workdir, trusted });
    return trusted ? { ...space, checkout: this.checkout(workdir) } : space;
  };

  /** What `[sandbox]` grants the person and their sessions; nothing to work for others. */
  readonly granted = async (session_id?: string): Promise<Granted> => {
    const { env, grant: grants, git_credentials, ...own } = this.#parts.config().sandbox;
    const session = session_id && await this.#parts.hub().get(session_id);
    if (session && session.state.trust !== "trusted") return {};
    const network = session ? this.networkOf(session.state) : own.network;
    const git_hosts = network === "allowed" ? git_credentials : [];
    if (env.length === 0) return { grants, git_hosts };
    const { grantedVariables } = await import("../jail/granted_variables.ts");
    return { env: grantedVariables(env, Deno.env.toObject()), grants, git_hosts };
  };

  /** The part of the checkout around a directory that commands of the person's sessions may see. */
  readonly checkout = (workdir: string): Checkout => {
    const top = checkoutAbove(workdir);
    if (top === undefined) return { top, hidden: [] };
    const { hub, runtime_dir } = this.#parts;
    const { workdirs, hidden } = hub().placesIn(top);
    const own = join(top, ".svc");
    return {
      top,
      hidden: [...hidden, own, runtime_dir],
      other: workdirs.find((path) => path !== workdir && !isWithin(path, own)),
    };
  };

  /** Opens a command's proxy; undefined with no or full network. */
  readonly wayOut = async (
    session_id: string,
    decide?: DecideHost,
  ): Promise<WayOut | undefined> => {
    const { state } = await this.#parts.hub().get(session_id);
    if (this.networkOf(state) !== "allowed") return undefined;
    return await (await this.#ways_out.get()).open(state, decide);
  };

  /** As {@linkcode HubParts.runsAbove}. */
  runsAbove(directory: string): string | undefined {
    return this.#sandboxes?.runsAbove(directory);
  }

  /** As {@linkcode HubParts.isShown}. */
  isShown(path: string): boolean | undefined {
    return this.#sandboxes?.isShown(path);
  }

  sessionEnded(session_id: string): void {
    this.#pool?.closeSession(session_id);
    this.#spaces.opened?.then((spaces) => spaces.sessionEnded(session_id), () => {});
    this.#sandboxes?.sessionEnded(session_id);
  }

  /** Makes the next command use the session's new directories. */
  sessionMoved(session_id: string): void {
    this.#spaces.opened?.then((spaces) => spaces.forget(session_id), () => {});
  }

  /** Removes temporary files of a session's commands, also from an earlier daemon. */
  async sessionDeleted(session_id: string): Promise<void> {
    await (await this.#spaces.opened)?.sessionEnded(session_id);
    await removeTree(join(this.#parts.spaces, "tmp", session_id));
  }

  async close(): Promise<void> {
    await (await this.#units.opened)?.close();
  }

  [Symbol.dispose](): void {
    this.#sandboxes?.[Symbol.dispose]();
  }
}
