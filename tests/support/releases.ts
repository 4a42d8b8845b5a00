/** Releases for tests, made as real ones are, and a server that publishes them, well or badly. */
import { Buffer } from "node:buffer";
import { basename, dirname, join } from "@std/path";
import { installScripts } from "../../install/release.ts";
import { newKey, readSigner, type Signer } from "../../install/release_keys.ts";
import { writeRelease } from "../../install/release_write.ts";
import { type Target, TARGETS } from "../../src/features/update/manifest.ts";
import { Site } from "./site.ts";
import type { Place } from "./svc.ts";

/** A key that signs releases of tests. */
export async function testSigner(): Promise<Signer> {
  return await readSigner((await newKey()).private_pem);
}

/** This system. */
export function ownTarget(): Target {
  return TARGETS.find((it) => it === Deno.build.target)!;
}

/**
 * A program that tells a version of svc, as a shell script.
 *
 * @param padding bytes that it has beside that, not to be compressed.
 */
export function scriptBinary(version: string, padding = 0): Uint8Array<ArrayBuffer> {
  const script = `#!/bin/sh
case "$1" in
  --version) echo "svc ${version}+test (deno 0, protocol 1)" ;;
  *) exit 3 ;;
esac
exit 0
`;
  const random = new Uint8Array(padding);
  for (let at = 0; at < padding; at += 65_536) {
    crypto.getRandomValues(random.subarray(at, at + 65_536));
  }
  return new Uint8Array(Buffer.concat([Buffer.from(script), random]));
}

/** The compiled binary with another version in it, of the same length. */
export async function withVersion(
  binary: string,
  from: string,
  to: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await Deno.readFile(binary);
  const at = Buffer.from(bytes.buffer).indexOf(`"version": "${from}"`);
  if (at < 0 || from.length !== to.length) {
    throw new Error(`no ${from} of that length in ${binary}`);
  }
  bytes.set(new TextEncoder().encode(`"version": "${to}"`), at);
  return bytes;
}

export interface TestRelease {
  /** An empty directory. */
  out: string;
  version: string;
  signer: Signer;
  binary: Uint8Array<ArrayBuffer>;
  channel?: string;
  released_at?: Date;
  min_version?: string;
  target?: Target;
  /** The install scripts of the release look there. */
  base_url?: string;
}

/** Makes a release for one system. */
export async function makeRelease(options: TestRelease): Promise<void> {
  const { out, binary, signer, target = ownTarget(), base_url = "" } = options;
  await Deno.mkdir(out, { recursive: true });
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, binary);
    await writeRelease({
      channel: "stable",
      released_at: new Date(),
      ...options,
      revision: "test",
      date: new Date("2000-01-01"),
      built: [{ target, path }],
      not_built: TARGETS.filter((it) => it !== target),
      documents: [{ name: "LICENSE", bytes: new TextEncoder().encode("as is\n") }],
      beside: await installScripts(signer, base_url),
    });
  } finally {
    await Deno.remove(path);
  }
}

/** What the server does with a file. */
export type Fault = (bytes: Uint8Array<ArrayBuffer>) => BodyInit;

/** Publishes a directory as the newest release, and as the one of its version. */
export class ReleaseServer implements AsyncDisposable {
  /** By the file's name. */
  readonly faults = new Map<string, Fault>();
  readonly #site: Site;

  constructor(public dir: string) {
    this.#site = new Site((url) => this.#answer(basename(url.pathname)));
  }

  /** The install scripts look there. */
  get base_url(): string {
    return this.#site.origin;
  }

  /** `svc update` looks there. */
  get manifest_url(): string {
    return `${this.base_url}/latest/download/manifest.json`;
  }

  async #answer(name: string): Promise<Response> {
    try {
      const bytes = await Deno.readFile(join(this.dir, name));
      return new Response(this.faults.get(name)?.(bytes) ?? bytes);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return new Response("not here", { status: 404 });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#site[Symbol.asyncDispose]();
  }
}

/** Publishes a release of a script, and has the home of a place take its updates from there. */
export async function publishFor(place: Place, version: string): Promise<ReleaseServer> {
  const signer = await testSigner();
  const server = new ReleaseServer(join(place.dir, "release"));
  await makeRelease({ out: server.dir, version, signer, binary: scriptBinary(version) });
  place.configure(updateToml(server, signer));
  return server;
}

/** The section of `daemon.toml` that takes updates from a server. */
export function updateToml({ manifest_url }: ReleaseServer, { public_key }: Signer): string {
  return `[update]\nmanifest_url = "${manifest_url}"\npublic_key = "${public_key}"\n`;
}

/** Installs the binary under test in the home of a place, whose programs it is from now on. */
export function installBinary(place: Place): void {
  const installed = join(place.home, "bin", "svc");
  Deno.mkdirSync(dirname(installed), { recursive: true, mode: 0o700 });
  Deno.copyFileSync(place.command[0], installed);
  place.command[0] = installed;
}

/** Publishes the installed binary of a place with another version in it. */
export async function publishBinary(place: Place): Promise<ReleaseServer> {
  const [installed] = place.command;
  const [, old] = (await place.svc(["--version"])).stdout.match(/^svc ([^+]+)\+/)!;
  const version = `9${old.slice(1)}`;
  const signer = await testSigner();
  const server = new ReleaseServer(join(place.dir, "release"));
  const binary = await withVersion(installed, old, version);
  await makeRelease({ out: server.dir, version, signer, binary });
  const toml = `\n${updateToml(server, signer)}`;
  Deno.writeTextFileSync(join(place.home, "daemon.toml"), toml, { append: true });
  return server;
}

/** Sends the first half and then nothing, until it is told to go on. */
export class Half {
  /** Resolves when the half was sent. */
  readonly reached = Promise.withResolvers<void>();
  readonly #rest = Promise.withResolvers<void>();

  readonly fault: Fault = (bytes) => {
    const middle = bytes.length >> 1;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      controller.enqueue(bytes.subarray(0, middle));
      this.reached.resolve();
      await this.#rest.promise;
      controller.enqueue(bytes.subarray(middle));
      controller.close();
    };
    return new ReadableStream({ start: (controller) => void pull(controller).catch(() => {}) });
  };

  goOn(): void {
    this.#rest.resolve();
  }
}

/** Changes one bit of a file's middle. */
export const flipped: Fault = (bytes) => {
  const copy = bytes.slice();
  copy[copy.length >> 1] ^= 1;
  return copy;
};

/** Ends in the middle. */
export const cut: Fault = (bytes) => bytes.subarray(0, bytes.length >> 1);
