import { isAbsolute, join, SEPARATOR } from "@std/path";

/** Where everything of one daemon lies (contract.md section 1). All paths are absolute. */
export interface HomePaths {
  home: string;
  /** Parent of the socket, mode 0700. */
  runtime_dir: string;
  socket: string;
  discovery: string;
  lock: string;
  index: string;
  /** One link for each session to its journal: what a lost index is rebuilt from. */
  journal_links: string;
  /** Where the sessions' ledgers stood, a file a session. */
  anchors: string;
  /** The bus, a write-ahead log for observers of all sessions. */
  bus: string;
  /** The cortex's own directory, and the audit trail of automatic memory writes in it. */
  cortex: string;
  curator_audit: string;
  /** The files of missions, a directory each. */
  missions: string;
  /** Directories of commands that outlive one command. */
  spaces: string;
  /** What tasks made, a directory each. */
  artifacts: string;
  /** The database: memory, missions, tasks. SQLite keeps two more files beside it. */
  state_db: string;
  /** The desktop shell's own files: its window's profile, what it remembers. */
  desktop: string;
  /** Where `svc update` puts the binary. */
  binary: string;
  /** Held while the binary is replaced; and the newest releases that were seen. */
  update_lock: string;
  update_state: string;
  config: string;
  /** The keys of model providers that `svc login` saved, and what is held while they change. */
  keys: string;
  keys_lock: string;
  /** The catalogue of models that was downloaded. */
  catalogue: string;
  /** The key that signs exported ledgers. */
  ledger_key: string;
  /** Variables for the daemon that the background unit runs. */
  environment: string;
  /** The operator's tool servers. */
  policy: string;
  /** Which projects' tool servers a person has approved. */
  project_servers: string;
  /** Registrations and tokens of logins at tool servers. */
  mcp_logins: string;
  log_dir: string;
  log: string;
}

/** Reads an environment variable; {@linkcode Deno.env.get} outside of tests. */
export type Env = (name: string) => string | undefined;

const WINDOWS = Deno.build.os === "windows";

/**
 * Finds the paths of the daemon that `env` points at.
 *
 * @throws {Error} when neither SVC_HOME nor the user's home directory is known.
 */
export function homePaths(env: Env, uid: number | null): HomePaths {
  // A shell of Unix on Windows has a HOME of its own.
  const user_home = WINDOWS ? env("USERPROFILE") : env("HOME");
  const home = env("SVC_HOME") ?? joinDefined(user_home, ".svc");
  if (home === undefined) {
    throw new Error("The home directory is unknown: neither SVC_HOME nor HOME is set.");
  }
  if (!isAbsolute(home)) throw new Error(`SVC_HOME must be an absolute path, got "${home}".`);
  const runtime_dir = runtimeDir(env, home, uid);
  const log_dir = join(home, "log");
  return {
    home,
    runtime_dir,
    socket: WINDOWS ? pipeName(env) : join(runtime_dir, "svc.sock"),
    discovery: join(home, "daemon.json"),
    lock: join(home, "daemon.lock"),
    index: join(home, "sessions-index.json"),
    journal_links: join(home, "journals"),
    anchors: join(home, "ledger"),
    bus: join(home, "bus"),
    cortex: join(home, "cortex"),
    curator_audit: join(home, "cortex", "curator-audit.jsonl"),
    missions: join(home, "missions"),
    spaces: join(home, "spaces"),
    artifacts: join(home, "artifacts"),
    state_db: join(home, "state.db"),
    desktop: join(home, "desktop"),
    binary: join(home, "bin", WINDOWS ? "svc.exe" : "svc"),
    update_lock: join(home, "update.lock"),
    update_state: join(home, "update.json"),
    config: join(home, "daemon.toml"),
    keys: join(home, "keys.json"),
    keys_lock: join(home, "keys.lock"),
    catalogue: join(home, "catalogue.json"),
    ledger_key: join(home, "ledger_key.pem"),
    environment: join(home, "env"),
    policy: join(home, "policy.yaml"),
    project_servers: join(home, "project-servers.json"),
    mcp_logins: join(home, "mcp-logins.json"),
    log_dir,
    log: join(log_dir, "daemon.ndjson"),
  };
}

/**
 * Where a worker of tasks keeps what is its own: beside the daemon of its home and other workers, a
 * directory each. What the operator writes, and the home that nothing else may see, are the same.
 */
export function workerPaths(paths: HomePaths, n: number): HomePaths {
  const dir = join(paths.home, "workers", String(n));
  const log_dir = join(dir, "log");
  return {
    ...paths,
    lock: join(dir, "worker.lock"),
    discovery: join(dir, "daemon.json"),
    index: join(dir, "sessions-index.json"),
    journal_links: join(dir, "journals"),
    anchors: join(dir, "ledger"),
    bus: join(dir, "bus"),
    cortex: join(dir, "cortex"),
    curator_audit: join(dir, "cortex", "curator-audit.jsonl"),
    missions: join(dir, "missions"),
    spaces: join(dir, "spaces"),
    artifacts: join(dir, "artifacts"),
    state_db: join(dir, "state.db"),
    log_dir,
    log: join(log_dir, "worker.ndjson"),
  };
}

function runtimeDir(env: Env, home: string, uid: number | null): string {
  const own = env("SVC_RUNTIME_DIR");
  if (own !== undefined) return own;
  // On Windows the socket is a pipe, and nothing lies in there.
  if (WINDOWS || env("SVC_HOME") !== undefined) return join(home, "run");
  return joinDefined(env("XDG_RUNTIME_DIR"), "svc") ??
    join(env("TMPDIR") ?? "/tmp", `svc-${uid ?? "user"}`);
}

/** The pipe that is the local socket on Windows. It has a name, no place: a chosen home is part of it. */
export function pipeName(env: Env): string {
  const home = env("SVC_HOME");
  const suffix = home === undefined ? "" : `-${home.replaceAll(/[\\/:]+/g, "-")}`;
  return `\\\\.\\pipe\\svc-${env("USERNAME") ?? "user"}${suffix}`;
}

function joinDefined(base: string | undefined, name: string): string | undefined {
  return base === undefined || base === "" ? undefined : join(base, name);
}

/** Whether `path` is `dir` or inside it; both absolute and normalised. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(SEPARATOR) ? dir : `${dir}${SEPARATOR}`);
}

/** Reports whether a directory contains the programs of the system. */
export function holdsSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib"].some((each) => isWithin(each, path));
}
