import { join } from "@std/path";

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
  /** What tasks made, a directory each. */
  artifacts: string;
  /** The database: memory, missions, tasks. SQLite keeps two more files beside it. */
  state_db: string;
  /** Where `svc update` puts the binary. */
  binary: string;
  config: string;
  /** The operator's tool servers. */
  policy: string;
  log_dir: string;
  log: string;
}

/** Reads an environment variable; {@linkcode Deno.env.get} outside of tests. */
export type Env = (name: string) => string | undefined;

/**
 * Finds the paths of the daemon that `env` points at.
 *
 * @throws {Error} when neither SVC_HOME nor the user's home directory is known.
 */
export function homePaths(env: Env, uid: number | null): HomePaths {
  const home = env("SVC_HOME") ?? joinDefined(env("HOME") ?? env("USERPROFILE"), ".svc");
  if (home === undefined) {
    throw new Error("The home directory is unknown: neither SVC_HOME nor HOME is set.");
  }
  if (!home.startsWith("/") && Deno.build.os !== "windows") {
    throw new Error(`SVC_HOME must be an absolute path, got "${home}".`);
  }
  const runtime_dir = env("SVC_RUNTIME_DIR") ??
    (env("SVC_HOME") !== undefined ? join(home, "run") : undefined) ??
    joinDefined(env("XDG_RUNTIME_DIR"), "svc") ??
    join(env("TMPDIR") ?? "/tmp", `svc-${uid ?? "user"}`);
  const log_dir = join(home, "log");
  return {
    home,
    runtime_dir,
    socket: join(runtime_dir, "svc.sock"),
    discovery: join(home, "daemon.json"),
    lock: join(home, "daemon.lock"),
    index: join(home, "sessions-index.json"),
    journal_links: join(home, "journals"),
    anchors: join(home, "ledger"),
    bus: join(home, "bus"),
    cortex: join(home, "cortex"),
    curator_audit: join(home, "cortex", "curator-audit.jsonl"),
    missions: join(home, "missions"),
    artifacts: join(home, "artifacts"),
    state_db: join(home, "state.db"),
    binary: join(home, "bin", Deno.build.os === "windows" ? "svc.exe" : "svc"),
    config: join(home, "daemon.toml"),
    policy: join(home, "policy.yaml"),
    log_dir,
    log: join(log_dir, "daemon.ndjson"),
  };
}

function joinDefined(base: string | undefined, name: string): string | undefined {
  return base === undefined || base === "" ? undefined : join(base, name);
}

/** Whether `path` is `dir` or inside it; both absolute and normalised. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith("/") ? dir : `${dir}/`);
}
