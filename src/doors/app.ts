/**
 * The web app (product.md): its built files, made by `deno task web`, at `/` and `/assets/`. They lie
 * beside the source, or inside the compiled binary, and are read when they are asked for: a daemon
 * that nobody looks at keeps none of them in memory.
 */
import { acceptsEncodings, ifNoneMatch } from "@std/http";
import { SvcError } from "../protocol/errors.ts";

/** How a file is compressed, as HTTP calls it, and what the name of its file ends with. */
export const CODINGS = { br: ".br", gzip: ".gz" } as const;
export type Coding = keyof typeof CODINGS;

/** One file of the build; on disk it is compressed, in each coding a file `<hash><ending>`. */
export interface Asset {
  /** The codings that there are, the one to prefer first; always gzip. */
  codings: Coding[];
  type: string;
  /** Of its content. */
  hash: string;
  /** Its path changes with its content. */
  immutable: boolean;
}

/** The files of a build by their paths; `/` is the page itself. */
export type Manifest = Record<string, Asset>;

const PAGE = "/";

/** As product.md has it: in the HTML too, but for frame-ancestors, which only a header can carry. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "connect-src 'self' ws://127.0.0.1:* http://127.0.0.1:*",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "script-src 'self'",
  "worker-src 'self' blob:",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
};

/**
 * Answers a GET or HEAD for a file of the app. Any path that a browser opens as a page gets the page:
 * which view it means is decided there.
 *
 * @param base_headers what every response of the listener carries.
 * @returns undefined when the app has nothing at this path.
 * @throws {SvcError} not_implemented when the app has not been built.
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
  // Each representation has a strong tag of its own (RFC 9110, section 8.8.3).
  const etag = `"${asset.hash}-${coding ?? "identity"}"`;
  const headers: Record<string, string> = {
    ...base_headers,
    ...(asset.type.startsWith("text/html") ? PAGE_HEADERS : {}),
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
  // At once: these are a few kilobytes, and a page asks for all of its files together.
  const file = Deno.readFileSync(new URL(asset.hash + CODINGS[coding ?? "gzip"], distUrl()));
  if (coding) return new Response(file, { headers: { ...headers, "content-encoding": coding } });
  const plain = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain, { headers });
}

/** @returns undefined when the client takes the file as it is only. */
function codingFor(request: Request, { codings }: Asset): Coding | undefined {
  if (!request.headers.has("accept-encoding")) return undefined;
  // One by one: browsers name all with the same weight, and the smallest is ours to choose.
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

/** Whether a browser asks for a page, not a program for data. */
function isPage({ headers }: Request, pathname: string): boolean {
  return !/^\/(v1|api|assets|mcp)(\/|$)/.test(pathname) &&
    (headers.get("accept") ?? "").includes("text/html");
}
