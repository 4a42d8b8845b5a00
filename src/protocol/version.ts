/** What `svc --version`, the discovery record and the health record call this build. */
import config from "../../deno.json" with { type: "text" };

/** Replaced by the build (install/compile.ts); from source it stays as it is. */
const REVISION = "@revision@";

// Not parsed: a start that costs nothing extra matters more than a general reader of JSONC.
const [, version] = config.match(/"version": "([^"]+)"/)!;

/** `<version>+<revision>`; the revision is `source` when run from source. */
export const VERSION = `${version}+${REVISION.startsWith("@") ? "source" : REVISION}`;

/** Version of the wire protocol (product.md, Versioning). */
export const PROTOCOL_VERSION = 1;
