/** Opens the store for artifacts that a URL names. */
import { fromFileUrl, isAbsolute } from "@std/path";
import { SvcError } from "../../../protocol/errors.ts";
import type { BucketOptions } from "./bucket.ts";
import { Directory } from "./directory.ts";
import type { Objects } from "./objects.ts";
import { SharedArtifacts, type SharedOptions } from "./store.ts";

type Env = (name: string) => string | undefined;

/** In every client and server, and therefore in every signature, these stand for themselves. */
const PREFIX = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const SETTINGS = ["endpoint", "region", "path_style"];

/**
 * Opens a store that all machines of an engine reach. Does not contact it yet.
 *
 * - `file:///mnt/shared/svc`, or the path alone: a directory that each machine mounts and that
 *   exists. Use a directory on the disk, not the mount point, which exists without the disk.
 * - `s3://bucket/prefix`, with `?endpoint=https://…`, `region=…` and `path_style=true|false`. The
 *   variables of AWS's own tools set the rest: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
 *   AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL.
 *
 * @throws {SvcError} validation for a wrong URL or missing credentials
 */
export async function openSharedArtifacts(
  url: string,
  { env, ...options }: SharedOptions & { env: Env },
): Promise<SharedArtifacts> {
  return new SharedArtifacts(await openObjects(url, env), options);
}

async function openObjects(url: string, env: Env): Promise<Objects> {
  if (url.startsWith("s3://")) {
    const options = bucketOptions(url, env);
    const { Bucket } = await import("./bucket.ts");
    return new Bucket(options);
  }
  if (isAbsolute(url)) return new Directory(url);
  try {
    return new Directory(fromFileUrl(url));
  } catch {
    // Not the whole URL: it may have a password.
    const got = url.split(":", 1)[0].slice(0, 20);
    throw wrong(`must begin with file:///, s3:// or a slash, got "${got}"`);
  }
}

/** Reads where a bucket is and how to sign for it. @throws {SvcError} validation. */
export function bucketOptions(url: string, env: Env): BucketOptions {
  const parsed = URL.parse(url);
  if (!parsed) throw wrong("is not a valid URL");
  const { hostname: bucket, pathname, searchParams, username, password, port, hash } = parsed;
  if (username || password) {
    throw wrong("must not contain credentials", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  const prefix = pathname.replace(/^\/|\/$/g, "").replace(/.$/, "$&/");
  if (!BUCKET.test(bucket) || !PREFIX.test(prefix) || port || hash) {
    throw wrong(
      "must be s3://bucket/prefix with letters, digits and ._- alone",
      "put an endpoint into the query: s3://bucket?endpoint=https://…",
    );
  }
  const unknown = searchParams.keys().find((name) => !SETTINGS.includes(name));
  if (unknown) throw wrong(`has an unknown setting ${unknown}`, `use ${SETTINGS.join(", ")}`);
  const [accessKeyId, secretAccessKey] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(env);
  if (!accessKeyId || !secretAccessKey) {
    throw new SvcError("validation", `no credentials for s3://${bucket}`, {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; profiles and roles are not read",
    });
  }
  const set = (name: string, ...variables: string[]) =>
    searchParams.get(name) || variables.map(env).find(Boolean);
  const region = set("region", "AWS_REGION", "AWS_DEFAULT_REGION") ?? "us-east-1";
  const endpoint = set("endpoint", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
  // The certificates of AWS do not cover names with dots.
  const path_style = set("path_style") ?? String(endpoint !== undefined || bucket.includes("."));
  if (!/^(?:true|false)$/.test(path_style)) throw wrong("path_style must be true or false");
  return {
    url: `s3://${bucket}/${prefix}`,
    at: bucketUrl(endpoint ?? awsEndpoint(region), bucket, path_style === "true"),
    prefix,
    region,
    credentials: { accessKeyId, secretAccessKey, sessionToken: env("AWS_SESSION_TOKEN") },
  };
}

function awsEndpoint(region: string): string {
  return `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

function bucketUrl(endpoint: string, bucket: string, path_style: boolean): string {
  const url = URL.parse(endpoint);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search) {
    throw wrong("has an invalid endpoint", "write it as https://host:port");
  }
  const path = url.pathname.replace(/\/$/, "");
  return path_style
    ? `${url.origin}${path}/${bucket}`
    : `${url.protocol}//${bucket}.${url.host}${path}`;
}

function wrong(what: string, hint?: string): SvcError {
  return new SvcError("validation", `the URL of the artifact store ${what}`, { hint });
}
