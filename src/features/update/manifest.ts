/**
 * `manifest.json` of a release. Its signature is `manifest.json.sig`: 64 bytes, Ed25519 over
 * exactly the bytes of the file.
 */
import * as z from "zod";
import "../../protocol/issue_text.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";

/** The systems with releases, as Deno names them. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
] as const;
export type Target = typeof TARGETS[number];

/** In bytes. */
const ARCHIVE_MAX = 512 * 1024 * 1024;

const AssetSchema = z.object({
  /** A later release may have systems that this version does not know. */
  target: z.string(),
  name: z.string().regex(/^[\w.-]+\.(?:tar\.gz|zip)$/),
  /** Relative to the manifest's address. */
  url: z.string(),
  /** Of the archive, in bytes. */
  size: z.int().positive().max(ARCHIVE_MAX),
  /** Of the archive, in hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** Ignores unknown fields, so that later releases can add some. */
const ManifestSchema = z.object({
  /** The version of this format. */
  schema: z.literal(1),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/),
  revision: z.string(),
  channel: z.string().regex(/^[a-z][a-z0-9-]*$/),
  released_at: z.iso.datetime(),
  /** The oldest version that can update to this one. */
  min_version: z.string().optional(),
  /** A hint at the signing key. */
  key_id: z.string(),
  assets: z.array(AssetSchema),
  /** Supported systems without an archive in this release. */
  not_built: z.array(z.string()).default([]),
});

export type Asset = z.infer<typeof AssetSchema>;
export type Manifest = z.infer<typeof ManifestSchema>;

/** Parses a manifest with a checked signature. @throws {SvcError} validation. */
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
