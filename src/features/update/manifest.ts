/**
 * `manifest.json` of a release: what there is, for whom, and how it is recognised. It is signed: next
 * to it lies `manifest.json.sig`, 64 bytes, the Ed25519 signature over exactly the bytes of the file.
 */
import * as z from "zod";
import { messageOf, SvcError } from "../../protocol/errors.ts";

/** The systems that releases are made for, as Deno names them. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
] as const;
export type Target = typeof TARGETS[number];

/** The largest archive that is downloaded, in bytes. */
export const ARCHIVE_MAX = 512 * 1024 * 1024;

const AssetSchema = z.object({
  /** A later release may have systems that this version does not know. */
  target: z.string(),
  name: z.string().regex(/^[\w.-]+\.(?:tar\.gz|zip)$/),
  /** Relative to the manifest's address. */
  url: z.string(),
  /** Bytes of the archive. */
  size: z.int().positive().max(ARCHIVE_MAX),
  /** SHA-256 of the archive, hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** Members that this version does not know are left out, so that later releases may have more. */
export const ManifestSchema = z.object({
  /** Of the manifest's own form. */
  schema: z.literal(1),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/),
  /** The commit that it was built from. */
  revision: z.string(),
  channel: z.string().regex(/^[a-z][a-z0-9-]*$/),
  released_at: z.iso.datetime(),
  /** The oldest version that can update to this one; an older one is installed anew. */
  min_version: z.string().optional(),
  /** Of the key that signed; only a hint. */
  key_id: z.string(),
  assets: z.array(AssetSchema),
  /** Systems that this release has no archive for, although there are releases for them. */
  not_built: z.array(z.string()).default([]),
});

export type Asset = z.infer<typeof AssetSchema>;
export type Manifest = z.infer<typeof ManifestSchema>;

/**
 * Reads a manifest whose signature was checked.
 *
 * @throws {SvcError} validation when it is none, or one of a form that this version does not know.
 */
export function parseManifest(bytes: Uint8Array): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new SvcError("validation", `the manifest is not JSON: ${messageOf(error)}`);
  }
  const parsed = ManifestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  throw new SvcError("validation", `the manifest's ${path.join(".")}: ${message}`, {
    hint: "it may be of a later form: install this release with its install script",
  });
}
