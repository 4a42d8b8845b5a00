import { isAbsolute, join, SEPARATOR } from "@std/path";

/** The files of one daemon (contract.md section 1). All paths are absolute. */
export interface HomePaths {
  home: string;
  /** Has the socket, mode 0700. */
  runtime_dir: string;
  /** As it was given, which may be shorter: sockets have short paths. */
  socket: string;
  discovery: string;
  lock: string;
  /** Who keeps the port for the next daemon. */
  port: string;
  /** The key from which pages of the app have theirs. */
  page_key: string;
  index: string;
  /** A link to the journal of each session, to rebuild a lost index. */
  journal_links: string;
  /** The state of the sessions' ledgers, one file each. */
  anchors: string;
  /** The write-ahead log for observers of all sessions. */
  bus: string;
  /** The cortex's directory, and its audit trail of automatic memory writes. */
  cortex: string;
  curator_audit: string;
  /** One directory for each mission. */
  missions: string;
  /** Directories of commands that outlive one command. */
  spaces: string;
  /** What tasks made, a directory each. */
  artifacts: string;
  /** Memory, missions, tasks. SQLite keeps two more files beside it. */
  state_db: string;
  /** The desktop shell's files: window profile, saved state. */
  desktop: string;
  /** Installed by `svc update`. */
  binary: string;
  /** Held while the binary is replaced; and the newest releases that were seen. */
  update_lock: string;
  update_state: string;
  config: string;
  /** Model providers' keys from `svc login`, and the lock for changes. */
  keys: string;
  keys_lock: string;
  /** Downloaded models. */
  catalogue: string;
  /** Signs exported ledgers. */
  ledger_key: string;
  /** Variables for the background unit's daemon. */
  environment: string;
  /** The operator's tool servers. */
  policy: string;
  /** Projects' tool servers that a person has approved. */
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
 * Finds the daemon's paths.
 *
 * @param placed returns a path whose directories above are real ones. On some systems /home or /tmp
 *   is a link, and sandboxes take real paths only. A link in the place of our own directory is left
 *   for its checks.
 * @throws {Error} when neither SVC_HOME nor the user's home is known
 */
export function homePaths(
  env: Env,
  uid: number | null,
  placed: (path: string) => string = (path) => path,
): HomePaths {
  // Unix shells on Windows have a HOME of their own.
  const user_home = WINDOWS ? env("USERPROFILE") : env("HOME");
  const named = env("SVC_HOME") ?? joinDefined(user_home, ".svc");
  if (named === undefined) {
    throw new Error("The home directory is unknown: neither SVC_HOME nor HOME is set.");
  }
  if (!isAbsolute(named)) throw new Error(`SVC_HOME must be an absolute path, got "${named}".`);
  const home = placed(named);
  const runtime_dir = runtimeDir(env, named, uid);
  const log_dir = join(home, "log");
  return {
    home,
    runtime_dir: placed(runtime_dir),
    socket: WINDOWS ? pipeName(env) : join(runtime_dir, "svc.sock"),
    discovery: join(home, "daemon.json"),
    lock: join(home, "daemon.lock"),
    port: join(home, "port.json"),
    page_key: join(home, "page.key"),
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
 * Returns the paths of a task worker: its own directory below the daemon's home. It shares the
 * operator's files and the private home.
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
  // On Windows the socket is a pipe, so this directory stays empty.
  if (WINDOWS || env("SVC_HOME") !== undefined) return join(home, "run");
  return joinDefined(env("XDG_RUNTIME_DIR"), "svc") ??
    join(env("TMPDIR") ?? "/tmp", `svc-${uid ?? "user"}`);
}

/**
 * Returns the name of the pipe on Windows. It includes a chosen SVC_HOME, because a pipe has no
 * path.
 */
export function pipeName(env: Env): string {
  const home = env("SVC_HOME");
  const suffix = home === undefined ? "" : `-${home.replaceAll(/[\\/:]+/g, "-")}`;
  return `\\\\.\\pipe\\svc-${env("USERNAME") ?? "user"}${suffix}`;
}

function joinDefined(base: string | undefined, name: string): string | undefined {
  return base === undefined || base === "" ? undefined : join(base, name);
}

/** Reports whether `path` is `dir` or inside it; both absolute and normalised. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(SEPARATOR) ? dir : `${dir}${SEPARATOR}`);
}

/** Reports whether a directory contains the system's programs. */
export function holdsSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib"].some((each) => isWithin(each, path));
}
