/** `svc update`: the newest release in the place of the installed binary. */
import { dirname } from "@std/path";
import { ownProgram } from "../client/own_program.ts";
import { daemonStatus } from "../client/status.ts";
import { readConfig } from "../config/read.ts";
import { SvcError } from "../protocol/errors.ts";
import type { HomePaths } from "../os/paths.ts";
import { writeAllSync } from "../base/write_all.ts";
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
import { type Flags, parseFlags, UsageError } from "./args.ts";
import { ownPaths } from "./environment.ts";
import { restartInstalled, restartInstalledAsJson } from "./restart_installed.ts";
import { progressOf } from "./update_progress.ts";
import { visible } from "../base/visible.ts";
import { print } from "./daemon_call.ts";

const HELP =
  `Puts the newest release at ~/.svc/bin/svc. Its signature and its SHA-256 are checked, and the
new binary is tried, before anything is replaced; the old one is kept as svc.previous. A running
daemon is not disturbed: it goes over to the new binary with its next restart.

Usage: svc update [--check] [--channel <name>] [--manifest-url <url>] [--allow-downgrade]
                  [--restart] [--json]
       svc update --rollback [--restart] [--json]

  --check                 tell whether there is a newer release; nothing is changed
  --channel <name>        channel to take it from, stable by default
  --manifest-url <url>    where the manifest is; else daemon.toml says, [update] manifest_url
  --allow-downgrade       also take a release older than the installed one, or than one seen before
  --rollback              go back to the binary that the last update replaced
  --restart               restart the daemon then; sessions go on where they were
  --json                  machine-readable output

Ctrl-C leaves everything as it was.`;

/** As a shell reports a command that Ctrl-C ended. */
const INTERRUPTED = 130;
const STOP_SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGHUP"];

/** The program that runs the update. */
export interface RunningProgram {
  /** Whether it is a binary, not run from source. */
  standalone: boolean;
  version: string;
  path: string;
}

/** Runs `svc update`. */
export async function run(argv: string[]): Promise<number> {
  return await update(argv, {
    standalone: Deno.build.standalone,
    version: VERSION,
    path: ownProgram().command,
  });
}

/** Runs `svc update` as this program. @returns the exit code. */
export async function update(argv: string[], own: RunningProgram): Promise<number> {
  const flags = parseFlags(argv, {
    boolean: ["check", "rollback", "allow-downgrade", "restart", "json"],
    string: ["channel", "manifest-url"],
  });
  const { boolean, rest } = flags;
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`svc update takes no argument "${rest[0]}"`);
  if (boolean.check && boolean.rollback) {
    throw new UsageError("--check and --rollback do not go together");
  }
  const paths = ownPaths();
  const done = await untilInterrupted((signal) => carryOut({ flags, paths, own, signal }));
  if (done === undefined) return INTERRUPTED;
  const daemon = done.changed ? await goOver(paths, flags) : undefined;
  if (boolean.json) {
    print({ ...done, path: paths.binary, daemon: daemon?.json });
  }
  return daemon?.code ?? 0;
}

/** Does what a signal to end the process may stop. @returns undefined when one did. */
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

/** What was found and done. */
interface Outcome {
  /** The version that was installed before. */
  installed: string;
  /** The newest release; missing after a rollback. */
  latest?: string;
  released_at?: string;
  /** Whether the release is to be installed. */
  available?: boolean;
  /** Whether the binary was replaced. */
  changed: boolean;
}

async function carryOut(job: Job): Promise<Outcome> {
  const { flags: { boolean }, paths, own } = job;
  if (!own.standalone && !boolean.check) {
    throw new SvcError("conflict", "this svc runs from source: there is no binary to replace", {
      hint: "update the source; or install the binary with its install script",
    });
  }
  const installed = await versionOf(paths.binary) ?? own.version;
  return boolean.rollback ? await goBack(job, installed) : await bringUp(job, installed);
}

async function bringUp(
  { flags: { boolean, string }, paths, own, signal }: Job,
  installed: string,
): Promise<Outcome> {
  const say = boolean.json ? () => {} : (text: string) => console.log(visible(text));
  const source = await sourceOf(paths, string);
  const release = await findRelease(source, signal);
  const { version, revision, released_at } = release.manifest;
  const available = await isWanted(release, {
    installed,
    state: paths.update_state,
    allow_downgrade: boolean["allow-downgrade"] ?? false,
  });
  const latest = `${version}+${revision}`;
  const outcome = { installed, latest, released_at, available, changed: false };
  if (!available) {
    if (!boolean.check) await removeLeftovers(paths);
    say(`svc ${installed} is the newest release of channel ${source.channel}`);
    return outcome;
  }
  if (boolean.check) {
    say(
      `svc ${latest} of ${released_at} can be installed; ${installed} is. \`svc update\` does so`,
    );
    return outcome;
  }
  const terminal = Deno.stderr.isTerminal();
  const write = (text: string) => writeAllSync(Deno.stderr, new TextEncoder().encode(text));
  await installRelease(release, {
    paths,
    target: Deno.build.target,
    signal,
    onProgress: boolean.json ? () => {} : progressOf(version, { terminal, write }),
  });
  say(`svc ${latest} is at ${paths.binary}; \`svc update --rollback\` goes back to ${installed}`);
  tellWhereElse(own, paths);
  return { ...outcome, changed: true };
}

async function goBack(
  { flags: { boolean }, paths }: Job,
  installed: string,
): Promise<Outcome> {
  const version = await rollBack(paths);
  if (!boolean.json) {
    console.log(`svc ${version} is at ${paths.binary}; a second --rollback undoes this`);
  }
  return { installed, changed: true };
}

/** @throws {SvcError} validation when nothing says where releases are, or who signs them. */
async function sourceOf(paths: HomePaths, flags: Flags["string"]): Promise<ReleaseSource> {
  const { update } = await readConfig(paths.config);
  const channel = flags.channel ?? "stable";
  const address = flags["manifest-url"] ?? update.manifest_url ?? BUILT_IN_MANIFEST_URL;
  const keys = update.public_key.length > 0 ? update.public_key : BUILT_IN_KEYS;
  if (address === undefined) {
    throw new SvcError("validation", "nothing says where releases are published", {
      hint: `set [update] manifest_url in ${paths.config}`,
    });
  }
  if (keys.length === 0) {
    throw new SvcError("validation", "nothing says whose signature to trust", {
      hint: `set [update] public_key in ${paths.config}; this build has no key of its own`,
    });
  }
  return {
    manifest_url: parseReleaseUrl(address.replaceAll("{channel}", channel)),
    channel,
    keys: await Promise.all(keys.map(parsePublicKey)),
  };
}

/** A binary that a package manager or another prefix put elsewhere is left alone. */
function tellWhereElse(own: RunningProgram, { binary }: HomePaths): void {
  if (own.path === Deno.realPathSync(binary)) return;
  console.error(
    `svc: this svc is ${own.path} and stays as it is; put ${dirname(binary)} first on PATH`,
  );
}

/** Restarts the daemon where it is wanted; else tells how. */
async function goOver(
  paths: HomePaths,
  { boolean: { restart, json } }: Flags,
): Promise<{ code: number; json?: unknown } | undefined> {
  const daemon = await daemonStatus(paths).catch(() => undefined);
  if (daemon === undefined) return undefined;
  const { pid, version } = daemon;
  if (json) {
    return restart ? await restartInstalledAsJson(paths) : { code: 0, json: { pid, version } };
  }
  if (restart || wantsRestart(version)) return { code: await restartInstalled(paths) };
  console.log(`the daemon (pid ${pid}) is still ${version}; \`svc serve restart\` goes over`);
  return { code: 0 };
}

function wantsRestart(running: string): boolean {
  if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) return false;
  return confirm(`The daemon is still ${running}. Restart it now? Its sessions go on.`);
}
