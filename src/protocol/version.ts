/** Name and versions of this build. */
import config from "../../deno.json" with { type: "text" };

/** Replaced by the build (install/compile.ts). */
const REVISION = "@revision@";

// Not parsed as JSONC, to keep the start fast.
const [, version] = config.match(/"version": "([^"]+)"/)!;

/** `<version>+<revision>`; the revision is `source` when run from source. */
export const VERSION = `${version}+${REVISION.startsWith("@") ? "source" : REVISION}`;

/** Of the wire protocol (product.md, Versioning). */
export const PROTOCOL_VERSION = 1;
