/** The update source of a build, unless `daemon.toml` names another (contract.md section 7). */

// Filled in by the build (install/compile.ts), but not when run from source.
const PUBLIC_KEYS = "@update-public-keys@";
const MANIFEST_URL = "@update-manifest-url@";

const filled = (mark: string) => mark.startsWith("@") ? "" : mark;

/** Release keys, for {@linkcode parsePublicKey}. */
export const BUILT_IN_KEYS: readonly string[] = filled(PUBLIC_KEYS).split(",").filter(Boolean);

/** Undefined in a build without one. */
export const BUILT_IN_MANIFEST_URL: string | undefined = filled(MANIFEST_URL) || undefined;
