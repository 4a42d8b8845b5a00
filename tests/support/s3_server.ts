/** A foreign server on loopback that speaks the protocol of S3 and checks signatures: s3rver. */
import { fromFileUrl, join } from "@std/path";
import { TextLineStream, toText } from "@std/streams";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";
import { endProcess } from "./processes.ts";

/** Whether one can be started. */
export const has_s3_server = granted("net", "read", "write", "env", "run", "sys") &&
  noted(await isInstalled(), "the npm package @20minutes/s3rver");

/** Its only account. */
const KEY = "S3RVER";
/** How it ends the name of the file with the bytes of an object. */
const BYTES = "._S3rver_object";

export class S3Server implements AsyncDisposable {
  readonly endpoint: string;
  readonly #dir: string;
  readonly #child: Deno.ChildProcess;
  readonly #drained: Promise<unknown>;

  private constructor(
    port: string,
    dir: string,
    child: Deno.ChildProcess,
    drained: Promise<unknown>,
  ) {
    this.endpoint = `http://127.0.0.1:${port}`;
    this.#dir = dir;
    this.#child = child;
    this.#drained = drained;
  }

  /** Starts one on a free port. @param dir where it keeps its data. */
  static async start(dir: string, ...buckets: string[]): Promise<S3Server> {
    const main = fromFileUrl(import.meta.resolve("./s3_server_main.ts"));
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "--no-check", main, dir, ...buckets],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const log = toText(child.stderr);
    const lines = child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
    const { value: port, done } = await lines.read();
    if (done) throw new Error(`s3rver did not start: ${await log}`);
    const drained = Promise.all([log, lines.read()]);
    return new S3Server(port, dir, child, drained);
  }

  /** The variables that a client of it has. */
  env = (name: string): string | undefined =>
    ({
      AWS_ACCESS_KEY_ID: KEY,
      AWS_SECRET_ACCESS_KEY: KEY,
      AWS_ENDPOINT_URL_S3: this.endpoint,
    } as Record<string, string>)[name];

  /** The file with the bytes of an object. */
  pathOf(bucket: string, key: string): string {
    return join(this.#dir, bucket, key + BYTES);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child, "SIGKILL");
    await this.#drained;
  }
}

async function isInstalled(): Promise<boolean> {
  try {
    // @ts-types="./s3rver.d.ts"
    await import("@20minutes/s3rver");
    return true;
  } catch {
    return false;
  }
}
