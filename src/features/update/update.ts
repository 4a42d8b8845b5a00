/** Updates the binary. Nothing is replaced before the new binary is verified and tried. */
import { createHash } from "node:crypto";
import { dirname, extname } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import { takeLock } from "../../os/lock.ts";
import { ensurePrivateDir, exists } from "../../os/files.ts";
import type { HomePaths } from "../../os/paths.ts";
import { writeAll } from "../../base/write_all.ts";
import { extractFile } from "./archive.ts";
import {
  ensureBinDir,
  exchangeWithPrevious,
  previousOf,
  putInPlace,
  removeTemporaries,
  temporaryBeside,
} from "./bin_dir.ts";
import { type Asset, type Manifest, parseManifest } from "./manifest.ts";
import { refuseReplay, remember } from "./replay.ts";
import { type PublicKey, signerOf } from "./signature.ts";
import { fetchBytes, fetchFile } from "./transport.ts";
import { compareVersions, versionOf } from "./version.ts";

const MANIFEST_MAX = 1024 * 1024;
const SIGNATURE_BYTES = 64;

export interface ReleaseSource {
  manifest_url: URL;
  channel: string;
  /** Any one of them may have signed. */
  keys: readonly PublicKey[];
}

/** A release with a valid signature. */
export interface Release {
  manifest: Manifest;
  manifest_url: URL;
}

/** `done` and `total` are bytes. */
export type Progress =
  | { step: "downloading"; done: number; total: number }
  | { step: "verified" | "unpacked" | "tried" | "replaced" };

/**
 * Finds the newest release.
 * @throws {SvcError} permission_denied without a trusted signature; conflict for another channel;
 * as {@linkcode fetchFile} and {@linkcode parseManifest}
 */
export async function findRelease(
  { manifest_url, channel, keys }: ReleaseSource,
  signal: AbortSignal,
): Promise<Release> {
  const bytes = await fetchBytes({ url: manifest_url, limit: MANIFEST_MAX, signal });
  const signature_url = new URL(manifest_url);
  signature_url.pathname += ".sig";
  const signature = await fetchBytes({ url: signature_url, limit: SIGNATURE_BYTES, signal });
  if (await signerOf(bytes, signature, keys) === undefined) {
    throw new SvcError(
      "permission_denied",
      `the signature of ${manifest_url} was not made with a trusted key ` +
        `(${keys.map(({ id }) => id).join(", ")})`,
      { hint: "nothing was changed; do not install this release until you know why" },
    );
  }
  const manifest = parseManifest(bytes);
  if (manifest.channel !== channel) {
    throw new SvcError(
      "conflict",
      `${manifest_url} is for channel ${manifest.channel}, not ${channel}`,
      { hint: "pass the address of that channel's manifest with --manifest-url" },
    );
  }
  return { manifest, manifest_url };
}

export interface Standing {
  /** The installed version, `<version>+<revision>`. */
  installed: string;
  /** `update.json`, see {@linkcode refuseReplay}. */
  state: string;
  allow_downgrade: boolean;
}

/**
 * Reports whether to install a release; false if it is installed.
 * @throws {SvcError} conflict when it is older, was superseded, or needs a newer installed version
 */
export async function isWanted(
  { manifest }: Release,
  { installed, state, allow_downgrade }: Standing,
): Promise<boolean> {
  const { version, channel, min_version } = manifest;
  const order = compareVersions(version, installed);
  if (!allow_downgrade) {
    await refuseReplay(state, manifest);
    if (order < 0) {
      throw new SvcError(
        "conflict",
        `svc ${installed} is installed; the newest release of channel ${channel} is older: ${version}`,
        { hint: "use --allow-downgrade to install it anyway" },
      );
    }
  }
  if (order > 0 && min_version !== undefined && compareVersions(installed, min_version) < 0) {
    throw new SvcError(
      "conflict",
      `cannot update from ${installed} to svc ${version}; it needs ${min_version} or later`,
      { hint: "reinstall with the install script; sessions and settings are kept" },
    );
  }
  return order !== 0;
}

interface InstallOptions {
  paths: HomePaths;
  /** As Deno names it. */
  target: string;
  signal: AbortSignal;
  onProgress(progress: Progress): void;
}

/**
 * Downloads, checks, tries and installs a release; the old binary stays as `svc.previous`. On an
 * error nothing is replaced.
 * @throws {SvcError} conflict during another update; not_found for this system; validation when the
 * download does not match the manifest or does not run; permission_denied when others can change
 * the directory; as {@linkcode fetchFile}; the signal's reason
 */
export async function installRelease(
  { manifest, manifest_url }: Release,
  { paths, target, signal, onProgress }: InstallOptions,
): Promise<void> {
  const asset = manifest.assets.find((it) => it.target === target);
  if (asset === undefined) {
    throw new SvcError("not_found", `svc ${manifest.version} is not available for ${target}`, {
      hint: `available: ${manifest.assets.map((it) => it.target).join(", ")}`,
    });
  }
  const { binary, update_state } = paths;
  await exclusively(paths, async () => {
    const archive = temporaryBeside(binary, asset.name.endsWith(".zip") ? ".zip" : ".tar.gz");
    await download(asset, {
      url: new URL(asset.url, manifest_url),
      to: archive,
      signal,
      onBytes: (done) => onProgress({ step: "downloading", done, total: asset.size }),
    });
    onProgress({ step: "verified" });
    const fresh = temporaryBeside(binary, extname(binary));
    await unpack(archive, fresh, signal);
    onProgress({ step: "unpacked" });
    await requireVersion(fresh, manifest.version, signal);
    onProgress({ step: "tried" });
    await remember(update_state, manifest);
    putInPlace(binary, fresh);
    onProgress({ step: "replaced" });
  });
}

/**
 * Swaps the binary with `svc.previous`, if that works. @returns the version now installed
 * @throws {SvcError} conflict during an update; not_found without a previous binary
 */
export async function rollBack(paths: HomePaths): Promise<string> {
  const previous = previousOf(paths.binary);
  return await exclusively(paths, async () => {
    if (!exists(previous)) {
      throw new SvcError("not_found", `there is no ${previous} to go back to`, {
        hint: "`svc update` keeps the replaced binary there",
      });
    }
    const version = await versionOf(previous);
    if (version === undefined) throw unusable(previous);
    exchangeWithPrevious(paths.binary);
    return version;
  });
}

/** Removes the files of a killed update. @throws {SvcError} conflict during an update. */
export async function removeLeftovers(paths: HomePaths): Promise<void> {
  if (exists(dirname(paths.binary))) await exclusively(paths, async () => {});
}

/** Runs a change of the binary exclusively, and removes temporary files before and after it. */
async function exclusively<T>(paths: HomePaths, work: () => Promise<T>): Promise<T> {
  ensurePrivateDir(paths.home);
  ensureBinDir(paths.binary);
  const lock = await takeLock(paths.update_lock);
  if (lock === undefined) {
    throw new SvcError("conflict", "another update is running", {
      hint: "wait until it has finished",
    });
  }
  try {
    removeTemporaries(paths.binary);
    return await work();
  } finally {
    try {
      removeTemporaries(paths.binary);
    } finally {
      lock.release();
    }
  }
}

interface DownloadOptions {
  url: URL;
  to: string;
  signal: AbortSignal;
  onBytes(done: number): void;
}

/** @throws {SvcError} validation when the download does not match the manifest */
async function download(
  asset: Asset,
  { url, to, signal, onBytes }: DownloadOptions,
): Promise<void> {
  const hash = createHash("sha256");
  let done = 0;
  onBytes(done);
  using file = await Deno.open(to, { write: true, createNew: true, mode: 0o600 });
  for await (const chunk of fetchFile({ url, limit: asset.size, signal })) {
    hash.update(chunk);
    await writeAll(file, chunk);
    done += chunk.length;
    onBytes(done);
  }
  if (done === asset.size && hash.digest("hex") === asset.sha256) return;
  const problem = done < asset.size
    ? `ended after ${done} of ${asset.size} bytes`
    : "does not match its manifest";
  throw new SvcError("validation", `${url} ${problem}`, {
    hint: "nothing was changed; a release may be in progress, so try again later",
  });
}

async function unpack(archive: string, fresh: string, signal: AbortSignal): Promise<void> {
  using to = await Deno.open(fresh, { write: true, createNew: true, mode: 0o755 });
  await extractFile({ archive, entry: `svc${extname(fresh)}`, to, signal });
  await to.sync();
}

async function requireVersion(path: string, expected: string, signal: AbortSignal): Promise<void> {
  const version = await versionOf(path);
  signal.throwIfAborted();
  if (version === undefined) throw unusable(path);
  if (compareVersions(version, expected) === 0) return;
  throw new SvcError("validation", `the binary of svc ${expected} reports version ${version}`, {
    hint: "nothing was changed; the release is faulty",
  });
}

function unusable(path: string): SvcError {
  return new SvcError("validation", `${path} cannot be run here`, {
    hint: `nothing was changed; the system may lack what it needs, or ${
      dirname(path)
    } forbid to run`,
  });
}
