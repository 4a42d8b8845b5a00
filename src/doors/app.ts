/**
 * The web app (product.md): files built by `deno task web`, at `/` and `/assets/`. They are next to
 * the source or inside the binary, and are read on demand, to save memory.
 */
import { acceptsEncodings, ifNoneMatch } from "@std/http";
import { SvcError } from "../protocol/errors.ts";

/** Compressions by HTTP name, with their file endings. */
export const CODINGS = { br: ".br", gzip: ".gz" } as const;
export type Coding = keyof typeof CODINGS;

/** A file of the build, stored once per coding as `<hash><ending>`. */
export interface Asset {
  /** Preferred one first; always includes gzip. */
  codings: Coding[];
  type: string;
  hash: string;
  /** Whether its path changes with its content. */
  immutable: boolean;
  /** Of a page that is not the app: the policy that it comes with. */
  policy?: string;
}

/** Files by path; `/` is the page. */
export type Manifest = Record<string, Asset>;

const PAGE = "/";

/** From product.md; also in the HTML, except for frame-ancestors, which needs a header. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "connect-src 'self' ws://127.0.0.1:* http://127.0.0.1:*",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "script-src 'self'",
  "worker-src 'self' blob:",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The policy of a page that runs what strangers wrote, in a frame of the app: its own inline scripts
 * and no others, nothing from any address, an origin of its own wherever it is opened.
 *
 * @param hashes of its scripts, in Base64
 */
export function framePolicy(hashes: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src ${hashes.map((hash) => `'sha256-${hash}'`).join(" ")}`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "sandbox allow-scripts",
  ].join("; ");
}

function pageHeaders({ type, policy = CONTENT_SECURITY_POLICY }: Asset): Record<string, string> {
  if (!type.startsWith("text/html")) return {};
  return { "content-security-policy": policy, "cross-origin-opener-policy": "same-origin" };
}

/**
 * Answers a GET or HEAD for a file of the app. Pages get the same HTML, which selects the view.
 *
 * @param base_headers headers of every response of the listener
 * @returns undefined when the app has nothing at this path
 * @throws {SvcError} not_implemented when the app has not been built
 */
export function appResponse(
  request: Request,
  base_headers: Record<string, string>,
): Response | undefined {
  const { pathname } = new URL(request.url);
  const manifest = readManifest();
  const asset = manifest[pathname] ?? (isPage(request, pathname) ? manifest[PAGE] : undefined);
  if (asset === undefined) return undefined;
  const coding = codingFor(request, asset);
  // Each representation has its own strong tag (RFC 9110, section 8.8.3).
  const etag = `"${asset.hash}-${coding ?? "identity"}"`;
  const headers: Record<string, string> = {
    ...base_headers,
    ...pageHeaders(asset),
    "cross-origin-resource-policy": "same-origin",
    "content-type": asset.type,
    "cache-control": asset.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    "vary": "Origin, Accept-Encoding",
    etag,
  };
  const known = request.headers.get("if-none-match");
  if (known !== null && !ifNoneMatch(known, etag)) {
    return new Response(null, { status: 304, headers });
  }
  // Synchronous: the files are a few kilobytes, and a page requests them all at once.
  const file = Deno.readFileSync(new URL(asset.hash + CODINGS[coding ?? "gzip"], distUrl()));
  if (coding) return new Response(file, { headers: { ...headers, "content-encoding": coding } });
  const plain = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain, { headers });
}

/** @returns undefined when the client accepts only the uncompressed file */
function codingFor(request: Request, { codings }: Asset): Coding | undefined {
  if (!request.headers.has("accept-encoding")) return undefined;
  // One at a time: browsers weigh all codings the same, so svc picks the smallest.
  return codings.find((coding) => acceptsEncodings(request, coding) === coding);
}

function distUrl(): URL {
  const source = import.meta.url.endsWith("/src/doors/app.ts");
  return new URL(source ? "../../web/dist/" : "./web/", import.meta.url);
}

function readManifest(): Manifest {
  try {
    return JSON.parse(Deno.readTextFileSync(new URL("manifest.json", distUrl())));
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new SvcError("not_implemented", "the web app has not been built", {
      hint: "run `deno task web` in the source directory",
      cause,
    });
  }
}

/** Whether a browser requests a page, rather than a program data. */
function isPage({ headers }: Request, pathname: string): boolean {
  return !/^\/(v1|api|assets|mcp)(\/|$)/.test(pathname) &&
    (headers.get("accept") ?? "").includes("text/html");
}
