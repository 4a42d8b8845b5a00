/** Whom a build takes updates from where `daemon.toml` names nobody (contract.md section 7). */

// Replaced by the build (install/compile.ts); from source they stay as they are.
const PUBLIC_KEYS = "@update-public-keys@";
const MANIFEST_URL = "@update-manifest-url@";

const filled = (mark: string) => mark.startsWith("@") ? "" : mark;

/** The keys that releases are signed with, as {@linkcode parsePublicKey} reads them. */
export const BUILT_IN_KEYS: readonly string[] = filled(PUBLIC_KEYS).split(",").filter(Boolean);

/** The manifest's address; undefined in a build that was given none. */
export const BUILT_IN_MANIFEST_URL: string | undefined = filled(MANIFEST_URL) || undefined;
