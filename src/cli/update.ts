/** `svc update`: replaces the installed binary with the newest release. */
import { dirname } from "@std/path";
import { ownProgram } from "../client/own_program.ts";
import { daemonStatus } from "../client/status.ts";
import { readConfig } from "../config/read.ts";
import { SvcError } from "../protocol/errors.ts";
import type { HomePaths } from "../os/paths.ts";
import { writeAllSync } from "../base/write_all.ts";
import { UPDATE as KEYS } from "../features/update/config.ts";
import { BUILT_IN_KEYS, BUILT_IN_MANIFEST_URL } from "../features/update/built_in.ts";
import { parsePublicKey } from "../features/update/signature.ts";
import { parseReleaseUrl } from "../features/update/transport.ts";
import {
  findRelease,
  installRelease,
  isWanted,
  type ReleaseSource,
  removeLeftovers,
  rollBack,
} from "../features/update/update.ts";
import { versionOf } from "../features/update/version.ts";
import { VERSION } from "../protocol/version.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { ownPaths } from "./environment.ts";
import { restartInstalled, restartInstalledAsJson } from "./restart_installed.ts";
import type { UPDATE } from "./table/update.ts";
import { progressOf } from "./update_progress.ts";
import { visible } from "../base/visible.ts";
import { print } from "./daemon_call.ts";
import { named, ownName } from "./own_name.ts";

/** The shells' exit code for a command that Ctrl-C ended. */
const INTERRUPTED = 130;
const STOP_SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

export interface RunningProgram {
  /** Whether it is a binary, not run from source. */
  standalone: boolean;
  version: string;
  path: string;
  /** What people call it; found before its file is replaced. */
  name: string;
}

type Flags = Input<typeof UPDATE>["flags"];

/** Runs `svc update`. */
export async function run({ flags }: Input<typeof UPDATE>): Promise<number> {
  return await update(flags, {
    standalone: Deno.build.standalone,
    version: VERSION,
    path: ownProgram().command,
    name: ownName(),
  });
}

/** Runs `svc update` as this program. @returns the exit code. */
export async function update(flags: Flags, own: RunningProgram): Promise<number> {
  if (flags.check && flags.rollback) {
    throw new UsageError("--check and --rollback cannot be used together");
  }
  const paths = ownPaths();
  const done = await untilInterrupted((signal) => carryOut({ flags, paths, own, signal }));
  if (done === undefined) return INTERRUPTED;
  const daemon = done.changed ? await goOver(paths, flags, own) : undefined;
  if (flags.json) {
    print({ ...done, path: paths.binary, daemon: daemon?.json });
  }
  return daemon?.code ?? 0;
}

/** @returns undefined if a signal interrupted the work. */
async function untilInterrupted<T>(
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const interrupted = new AbortController();
  const onSignal = () => interrupted.abort();
  for (const name of STOP_SIGNALS) Deno.addSignalListener(name, onSignal);
  try {
    return await work(interrupted.signal);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    console.error("svc: stopped; nothing was changed");
    return undefined;
  } finally {
    for (const name of STOP_SIGNALS) Deno.removeSignalListener(name, onSignal);
  }
}

interface Job {
  flags: Flags;
  paths: HomePaths;
  own: RunningProgram;
  signal: AbortSignal;
}

interface Outcome {
  installed: string;
  /** The newest release; missing after a rollback. */
  latest?: string;
  released_at?: string;
  /** Whether the release should be installed. */
  available?: boolean;
  /** Whether the binary was replaced. */
  changed: boolean;
}

async function carryOut(job: Job): Promise<Outcome> {
  const { flags, paths, own } = job;
  if (!own.standalone && !flags.check) {
    throw new SvcError("conflict", "svc runs from source, so there is no binary to update", {
      hint: "update the source, or install the binary with the install script",
    });
  }
  const installed = await versionOf(paths.binary) ?? own.version;
  return flags.rollback ? await goBack(job, installed) : await bringUp(job, installed);
}

async function bringUp(
  { flags, paths, own, signal }: Job,
  installed: string,
): Promise<Outcome> {
  const say = flags.json ? () => {} : (text: string) => console.log(visible(text));
  const source = await sourceOf(paths, flags);
  const release = await findRelease(source, signal);
  const { version, revision, released_at } = release.manifest;
  const available = await isWanted(release, {
    installed,
    state: paths.update_state,
    allow_downgrade: flags["allow-downgrade"],
  });
  const latest = `${version}+${revision}`;
  const outcome = { installed, latest, released_at, available, changed: false };
  if (!available) {
    if (!flags.check) await removeLeftovers(paths);
    say(`svc ${installed} is up to date (channel ${source.channel})`);
    return outcome;
  }
  if (flags.check) {
    say(
      `svc ${latest} of ${released_at} is available; ${installed} is installed. ` +
        named("Run `svc update`"),
    );
    return outcome;
  }
  const terminal = Deno.stderr.isTerminal();
  const write = (text: string) => writeAllSync(Deno.stderr, new TextEncoder().encode(text));
  await installRelease(release, {
    paths,
    target: Deno.build.target,
    signal,
    onProgress: flags.json ? () => {} : progressOf(version, { terminal, write }),
  });
  say(
    `installed svc ${latest} at ${paths.binary}; ` +
      named(`\`svc update --rollback\` returns to ${installed}`, () => own.name),
  );
  tellWhereElse(own, paths);
  return { ...outcome, changed: true };
}

async function goBack(
  { flags, paths }: Job,
  installed: string,
): Promise<Outcome> {
  const version = await rollBack(paths);
  if (!flags.json) {
    console.log(`installed svc ${version} at ${paths.binary}; a second --rollback undoes this`);
  }
  return { installed, changed: true };
}

/** @throws {SvcError} validation if the address or the public key of releases is missing. */
async function sourceOf(paths: HomePaths, flags: Flags): Promise<ReleaseSource> {
  const { SECTIONS } = await import("../features/registry.ts");
  const update = (await readConfig(paths.config, SECTIONS)).of(KEYS);
  const { channel } = flags;
  const address = flags["manifest-url"] ?? update.manifest_url ?? BUILT_IN_MANIFEST_URL;
  const keys = update.public_key.length > 0 ? update.public_key : BUILT_IN_KEYS;
  if (address === undefined) {
    throw new SvcError("validation", "no release address is configured", {
      hint: `set [update] manifest_url in ${paths.config}`,
    });
  }
  if (keys.length === 0) {
    throw new SvcError("validation", "no public key for releases is configured", {
      hint: `set [update] public_key in ${paths.config}; this build has no built-in key`,
    });
  }
  return {
    manifest_url: parseReleaseUrl(address.replaceAll("{channel}", channel)),
    channel,
    keys: await Promise.all(keys.map(parsePublicKey)),
  };
}

/** Reports that this program, such as a package manager's, was not changed. */
function tellWhereElse(own: RunningProgram, { binary }: HomePaths): void {
  if (own.path === Deno.realPathSync(binary)) return;
  console.error(
    `svc: ${own.path} was not changed; put ${dirname(binary)} first on PATH to use the new binary`,
  );
}

/** Restarts the daemon if wanted; otherwise explains how. */
async function goOver(
  paths: HomePaths,
  { restart, json }: Flags,
  { name }: RunningProgram,
): Promise<{ code: number; json?: unknown } | undefined> {
  const daemon = await daemonStatus(paths).catch(() => undefined);
  if (daemon === undefined) return undefined;
  const { pid, version } = daemon;
  if (json) {
    return restart ? await restartInstalledAsJson(paths) : { code: 0, json: { pid, version } };
  }
  if (restart || wantsRestart(version)) return { code: await restartInstalled(paths) };
  console.log(
    `the daemon (pid ${pid}) still runs ${version}; ` +
      named("`svc serve restart` switches to the new binary", () => name),
  );
  return { code: 0 };
}

function wantsRestart(running: string): boolean {
  if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) return false;
  return confirm(`The daemon still runs ${running}. Restart it now? Sessions continue.`);
}
