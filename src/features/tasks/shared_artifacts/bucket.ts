/**
 * Artifacts in a bucket of S3, or of a server that speaks its protocol.
 *
 * Uses what all of them have: PUT, GET, DELETE and ListObjectsV2, with the body signed as one piece.
 * No trailing checksums, chunked signatures, DeleteObjects or ETags, in which they differ. Keys are
 * letters, digits and `._-/`, which every client and server encodes the same way.
 */
import { AwsV4Signer } from "aws4fetch";
import { type ObjectKey, type Objects, StoreFault } from "./objects.ts";
import { faultOf, textOf } from "./s3_errors.ts";

export interface BucketOptions {
  /** `s3://bucket/prefix` */
  url: string;
  /** The URL of the bucket; without a slash at its end. */
  at: string;
  /** Empty, or with a slash at its end. */
  prefix: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
}

interface Asked {
  method?: "PUT" | "GET" | "DELETE";
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  signal: AbortSignal;
}

/** Of no bytes. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export class Bucket implements Objects {
  readonly #options: BucketOptions;
  readonly #signing_keys = new Map<string, ArrayBuffer>();
  /** Whether the server has refused conditions. */
  #unconditional = false;

  constructor(options: BucketOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  async write(
    { task_id, sha256 }: ObjectKey,
    body: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ): Promise<void> {
    const response = await this.#ask(`/${this.#options.prefix}${task_id}/${sha256}`, {
      method: "PUT",
      // The server refuses a body with another digest.
      headers: {
        "x-amz-content-sha256": sha256,
        "content-type": "application/octet-stream",
        ...(this.#unconditional ? {} : { "if-none-match": "*" }),
      },
      body,
      signal,
    });
    const { status, headers } = response;
    // It exists already; MinIO said 304 until 2024.
    if (status === 412 || status === 304) return void await response.body?.cancel();
    if (status === 501 && !this.#unconditional) {
      await response.body?.cancel();
      // Without the condition, the same bytes replace themselves.
      this.#unconditional = true;
      return await this.write({ task_id, sha256 }, body, signal);
    }
    if (!response.ok) throw await this.#fault(response);
    await response.body?.cancel();
    if (!headers.has("etag")) throw notS3(status);
  }

  async read(
    { task_id, sha256 }: ObjectKey,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const response = await this.#ask(`/${this.#options.prefix}${task_id}/${sha256}`, { signal });
    if (response.ok) return response.body ?? new Blob().stream();
    const fault = await this.#fault(response);
    if (response.status === 404 && fault.code === "NoSuchKey") return undefined;
    throw fault;
  }

  async tasks(signal: AbortSignal): Promise<string[]> {
    const { prefix } = this.#options;
    const dirs = await this.#list({ prefix, delimiter: "/" }, "Prefix", signal);
    // The answer repeats the requested prefix.
    return dirs.filter((dir) => dir !== prefix).map((dir) => dir.slice(prefix.length, -1));
  }

  async remove(task_id: string, signal: AbortSignal): Promise<void> {
    const prefix = `${this.#options.prefix}${task_id}/`;
    for (const key of await this.#list({ prefix }, "Key", signal)) {
      const response = await this.#ask(`/${key}`, { method: "DELETE", signal });
      if (!response.ok && response.status !== 404) throw await this.#fault(response);
      await response.body?.cancel();
    }
  }

  /** Returns what begins with the prefix in a tag, on all pages of a listing. */
  async #list(
    query: { prefix: string; delimiter?: string },
    tag: string,
    signal: AbortSignal,
  ): Promise<string[]> {
    const texts: string[] = [];
    let page: Record<string, string> = {};
    while (true) {
      const asked = new URLSearchParams({ "list-type": "2", ...query, ...page });
      const response = await this.#ask(`?${asked}`, { signal });
      if (!response.ok) throw await this.#fault(response);
      const xml = await response.text();
      if (!xml.includes("<ListBucketResult")) throw notS3(response.status);
      texts.push(...xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, "g")).map(([, it]) => it));
      const token = textOf(xml, "NextContinuationToken");
      if (textOf(xml, "IsTruncated") !== "true" || token === undefined) {
        // A server that ignores the prefix must not have all of its objects removed.
        return texts.filter((text) => text.startsWith(query.prefix));
      }
      page = { "continuation-token": token };
    }
  }

  async #ask(path: string, { signal, ...asked }: Asked): Promise<Response> {
    const { at, region, credentials } = this.#options;
    const { url, ...init } = await new AwsV4Signer({
      method: "GET",
      ...asked,
      headers: { "x-amz-content-sha256": EMPTY_SHA256, ...asked.headers },
      url: `${at}${path}`,
      service: "s3",
      region,
      cache: this.#signing_keys,
      ...credentials,
    }).sign();
    try {
      // A redirect would need another signature.
      return await fetch(url, { ...init, redirect: "manual", signal } as RequestInit);
    } catch (cause) {
      if (!(cause instanceof TypeError)) throw cause;
      const untrusted = /certificate/i.test(cause.message);
      const fix = untrusted
        ? "let this machine trust that certificate's authority"
        : "check the connection and the endpoint";
      throw new StoreFault(cause.message, fix, { passing: !untrusted, cause });
    }
  }

  async #fault(response: Response) {
    return faultOf(response, await response.text(), this.#options.region);
  }
}

function notS3(status: number): StoreFault {
  const why = `its endpoint answered ${status} but not like S3`;
  return new StoreFault(why, "set the endpoint to the S3 API, not to a console or a web page");
}
