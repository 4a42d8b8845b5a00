/** Writes a release: archives, documents, checksums, and their signatures. */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import type { Manifest, Target } from "../src/features/update/manifest.ts";
import { type ArchiveFile, writeArchive } from "./release_archive.ts";
import { type Signer, signForSsh } from "./release_keys.ts";

/** A binary in a release. */
export interface Built {
  target: Target;
  path: string;
}

export interface ReleaseOptions {
  /** An empty directory. */
  out: string;
  version: string;
  revision: string;
  channel: string;
  released_at: Date;
  /** The date of the files in the archives. */
  date: Date;
  min_version?: string;
  built: readonly Built[];
  /** Systems without an archive in this release. */
  not_built: readonly Target[];
  /** The files in every archive besides the binary: licence, manual pages, completions. */
  documents: readonly ArchiveFile[];
  /** The files beside the archives, by name: install scripts, bill of materials. */
  beside: Record<string, string>;
  signer: Signer;
}

/**
 * Returns the name of the archive for a system, which is the same in every release so that links
 * stay valid.
 */
export function archiveName(target: Target): string {
  return `svc-${target}.${target.includes("windows") ? "zip" : "tar.gz"}`;
}

/**
 * Writes a release into a directory that can be served as it is.
 *
 * @returns the names of its files
 */
export async function writeRelease(options: ReleaseOptions): Promise<string[]> {
  const { out, built, beside, documents, date, signer } = options;
  const assets: Manifest["assets"] = [];
  for (const { target, path } of built) {
    const name = archiveName(target);
    const binary: ArchiveFile = {
      name: target.includes("windows") ? "svc.exe" : "svc",
      bytes: await Deno.readFile(path),
      executable: true,
    };
    await writeArchive({ path: join(out, name), files: [binary, ...documents], date });
    const { size } = await Deno.stat(join(out, name));
    assets.push({ target, name, url: name, size, sha256: await sha256Of(join(out, name)) });
  }
  for (const [name, text] of Object.entries(beside)) {
    await Deno.writeTextFile(join(out, name), text);
  }
  await Deno.writeTextFile(join(out, "manifest.json"), manifestText(options, assets));
  const names = [...assets.map(({ name }) => name), ...Object.keys(beside), "manifest.json"].sort();
  const sums = await Promise.all(
    names.map(async (name) => `${await sha256Of(join(out, name))}  ${name}\n`),
  );
  await Deno.writeTextFile(join(out, "SHA256SUMS"), sums.join(""));
  const signed = ["manifest.json", "SHA256SUMS"];
  for (const name of signed) await sign(join(out, name), signer);
  return [...names, "SHA256SUMS", ...signed.flatMap((it) => [`${it}.sig`, `${it}.sshsig`])];
}

function manifestText(options: ReleaseOptions, assets: Manifest["assets"]): string {
  const { version, revision, channel, released_at, min_version, not_built, signer } = options;
  const manifest: Manifest = {
    schema: 1,
    version,
    revision,
    channel,
    released_at: released_at.toISOString(),
    min_version,
    key_id: signer.key_id,
    assets,
    not_built: [...not_built],
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Signs a file for `svc update` and openssl, and for ssh-keygen. */
async function sign(path: string, signer: Signer): Promise<void> {
  const bytes = await Deno.readFile(path);
  await Deno.writeFile(`${path}.sig`, await signer.sign(bytes));
  await Deno.writeTextFile(`${path}.sshsig`, await signForSsh(signer, bytes));
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of (await Deno.open(path)).readable) hash.update(chunk);
  return hash.digest("hex");
}
