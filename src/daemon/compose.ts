/** The composition root: opens and stops a daemon's core, features and doors. */
import { dirname } from "@std/path";
import { FEATURES, SECTIONS } from "../features/registry.ts";
import { prepareDescriptors } from "../os/descriptors.ts";
import { ensurePrivateDir } from "../os/files.ts";
import { takeLock } from "../os/lock.ts";
import { LogFile } from "../os/log.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { ulidIds } from "../session/ids.ts";
import { Dispatcher } from "../verbs/define.ts";
import { OpenFeatures } from "../verbs/feature.ts";
import { makeCore } from "./core.ts";
import { Current } from "./current.ts";
import { type Doors, openDoors } from "./doors.ts";
import { LoginPath } from "./login_path.ts";
import { checkPrivateFiles } from "./private_files.ts";
import { resumeAfter } from "./resume.ts";
import {
  AlreadyRunning,
  type Daemon,
  type DaemonOptions,
  type Runtime,
  type RuntimeOptions,
} from "./runtime.ts";

/**
 * Starts a daemon in this process.
 *
 * @throws {AlreadyRunning} when the lock is held
 * @throws {SvcError} permission_denied when a file is not private; validation for an invalid
 * configuration
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { doors, ...runtime } = await compose(options, options);
  const { discovery, ports } = doors!;
  return { ...runtime, discovery, ports };
}

/** Starts a worker, a daemon without doors. Throws as {@linkcode startDaemon}. */
export async function startWorker(options: RuntimeOptions): Promise<Runtime> {
  const { home, lock } = options.paths;
  for (const own of [home, dirname(dirname(lock)), dirname(lock)]) ensurePrivateDir(own);
  return await compose(options);
}

/** @param where its doors; a worker has none */
async function compose(options: RuntimeOptions, where?: DaemonOptions) {
  const { paths, env, log_stderr: stderr } = options;
  using cleanup = new DisposableStack();
  cleanup.use(prepareDescriptors());
  ensurePrivateDir(paths.home);
  const { state_db_there } = checkPrivateFiles(paths);
  const lock = await takeLock(paths.lock) ??
    await (await import("./left_lock.ts")).takeLeftLock(paths);
  if (lock === undefined) throw new AlreadyRunning(`${paths.lock} is held by another process`);
  cleanup.defer(() => lock.release());

  let doors: Doors | undefined;
  let discovery: Discovery | undefined;
  const ports = new Map<string, number>();
  const ids = ulidIds();
  const current = await Current.read({
    paths,
    sections: SECTIONS,
    env,
    ids,
    features: () => features,
    onChange: () => doors?.reconfigure(),
    onKey: (api_key) => log.mask(api_key),
  });
  const { config } = current;
  ensurePrivateDir(paths.log_dir);
  const log = new LogFile({ path: paths.log, level: config().log.level, stderr });
  cleanup.defer(() => log.close());

  const login = new LoginPath({
    env,
    started_by: options.started_by ?? "terminal",
    enabled: config().sandbox.login_path,
    log,
  });
  cleanup.defer(() => login.stop());

  let stopping = false;
  const stopped = Promise.withResolvers<void>();
  const shutdown = (grace_s: number) => {
    if (stopping) return;
    stopping = true;
    options.onStopping?.(grace_s);
    log.info("stopping", { grace_s });
    features.each("onDaemonEvent", "daemon.shutdown", { grace_s });
    stop(grace_s * 1000).then(stopped.resolve, stopped.reject);
  };
  const core = makeCore({
    options,
    sidecar: where?.sidecar ?? false,
    has_state_db: state_db_there,
    current,
    log,
    login,
    ids,
    features: () => features,
    dispatcher: () => dispatcher,
    discovery: () => discovery,
    ports: () => ports,
    stopping: () => stopping,
    shutdown,
  });
  cleanup.use(core);
  const { hub, findPeer } = core;
  const features: OpenFeatures = new OpenFeatures(FEATURES, core);
  const dispatcher = new Dispatcher(features.all.flatMap(({ bound }) => bound));
  for (const apply of await Promise.all(features.each("read"))) await apply();
  if (where !== undefined) {
    const onListening = (listening: Discovery) => void (discovery = listening);
    const parts = { features, ports, dispatcher, log, config, findPeer, onListening };
    doors = await openDoors({ ...where, ...parts, stopping: () => stopping });
  }
  const restored = hub.restore();
  restored.finally(() => login.begin(core.writable)).catch(() => {});
  await doors?.announce();
  // For all that a schema refuses from now on.
  await import("../protocol/issue_text.ts");
  resumeAfter(restored, hub, features, log);
  const opened = cleanup.move();

  async function stop(grace_ms: number): Promise<void> {
    const { stopAll } = await import("./stop.ts");
    await stopAll({ log, hub, jail: core.jail, features, doors: () => doors }, grace_ms);
    opened.dispose();
  }

  return { doors, log, shutdown, stopped: stopped.promise };
}
