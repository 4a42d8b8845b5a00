/**
 * Makes a release: compiles the binary for every system, and writes archives, install scripts,
 * manual pages, completions, a bill of materials, checksums and a signed manifest.
 *
 *   deno task release --new-key <file>
 *   deno task release [--out <dir>] [--targets <a,b>] [--denort <target>=<path>]…
 *                     [--binary <target>=<path>]… [--channel stable] [--min-version <version>]
 *                     [--base-url <url>] [--key <file>] [--expect-version <version>]
 *
 * The private key is in the file --key or in SVC_RELEASE_PRIVATE_KEY (PEM). --denort, or
 * DENORT_BIN_<TARGET> with _ for -, names the runtime for a system, for machines that cannot
 * download it; --binary names an existing binary. --base-url is the address of the releases: the
 * newest at <base>/latest/download, each at <base>/download/v<version>.
 *
 * The same commit, built by the same Deno in the same directory, gives the same archives. Only
 * manifest.json, which contains the time of the release, and files made from it differ.
 */
import { dirname, fromFileUrl, join } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { wholeTable } from "../src/cli/commands.ts";
import { ownProgram } from "../src/client/own_program.ts";
import { type Target, TARGETS } from "../src/features/update/manifest.ts";
import { VERSION } from "../src/protocol/version.ts";
import {
  bundleProgram,
  compileProgram,
  ENTRIES,
  soleBuild,
  sourceDate,
  sourceRevision,
} from "./compile.ts";
import type { ArchiveFile } from "./release_archive.ts";
import { HEADER_BYTES, isFor } from "./release_header.ts";
import { newKey, readSigner, type Signer } from "./release_keys.ts";
import { manualPages } from "./release_man.ts";
import { readPackages, sbomOf } from "./release_sbom.ts";
import { archiveName, type Built, writeRelease } from "./release_write.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
const [version] = VERSION.split("+");

interface Flags {
  out: string;
  targets: readonly Target[];
  denort: Partial<Record<Target, string>>;
  binary: Partial<Record<Target, string>>;
  channel: string;
  min_version?: string;
  base_url?: string;
  signer: Signer;
}

/** Compiles the missing binaries. @returns all of them. */
async function build(flags: Flags, dir: string, public_keys: string): Promise<Built[]> {
  const { targets, denort, binary, base_url } = flags;
  const missing = targets.filter((it) => binary[it] === undefined);
  if (missing.length > 0) {
    using _lock = await soleBuild();
    const manifest_url = base_url === undefined ? "" : `${base_url}/latest/download/manifest.json`;
    await bundleProgram({ revision: await sourceRevision(), public_keys, manifest_url });
    for (const target of missing) {
      console.log(`compiling for ${target}`);
      const output = join(dir, target, target.includes("windows") ? "svc.exe" : "svc");
      await compileProgram({ output, target, denort: denort[target] });
    }
  }
  const built = targets.map((target) => {
    const compiled = join(dir, target, target.includes("windows") ? "svc.exe" : "svc");
    return { target, path: binary[target] ?? compiled };
  });
  for (const it of built) await requireTarget(it);
  return built;
}

/** @throws {Error} when a binary is not for its target system */
async function requireTarget({ target, path }: Built): Promise<void> {
  const bytes = new Uint8Array(HEADER_BYTES);
  const file = await Deno.open(path);
  try {
    await file.read(bytes);
  } finally {
    file.close();
  }
  if (!isFor(target, bytes)) throw new Error(`${path} is not a program for ${target}`);
}

/** Runs the program from source. @returns its output. */
async function said(...args: string[]): Promise<string> {
  const { command, first_args } = ownProgram();
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...first_args, ...args],
    env: { NO_COLOR: "1" },
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Returns the files in every archive besides the binary. */
async function documentsOf(date: Date): Promise<ArchiveFile[]> {
  const shells = { "completions/svc.bash": "bash", "completions/_svc": "zsh" };
  const files: Record<string, string> = { LICENSE: await Deno.readTextFile(join(root, "LICENSE")) };
  for (const [name, shell] of Object.entries({ ...shells, "completions/svc.fish": "fish" })) {
    files[name] = await said("completions", shell);
  }
  for (
    const [name, text] of Object.entries(manualPages("svc", await wholeTable(), { version, date }))
  ) {
    files[`man/${name}`] = text;
  }
  return Object.entries(files).map(([name, text]) => ({
    name,
    bytes: new TextEncoder().encode(text),
  }));
}

/** Returns the install scripts with the keys and the address filled in. */
export async function installScripts(
  signer: Signer,
  base_url: string,
): Promise<Record<string, string>> {
  const scripts: Record<string, string> = {};
  for (const name of ["install.sh", "install.ps1"]) {
    const text = await Deno.readTextFile(join(root, "install", name));
    scripts[name] = text
      .replaceAll("@public-key@", signer.public_key)
      .replaceAll("@ssh-key@", signer.ssh_key)
      .replaceAll("@base-url@", base_url);
  }
  return scripts;
}

async function release(flags: Flags): Promise<void> {
  const { out, targets, signer, base_url } = flags;
  await Deno.mkdir(out, { recursive: true });
  for await (const _ of Deno.readDir(out)) throw new Error(`${out} is not empty`);
  const [revision, date] = [await sourceRevision(), await sourceDate()];
  const dir = await Deno.makeTempDir();
  try {
    const keys = Deno.env.get("SVC_RELEASE_PUBLIC_KEY") || signer.public_key;
    if (!keys.split(",").includes(signer.public_key)) {
      throw new Error("SVC_RELEASE_PUBLIC_KEY does not contain the key that signs this release");
    }
    const built = await build(flags, dir, keys);
    const not_built = TARGETS.filter((it) => !targets.includes(it));
    const sbom = sbomOf({ version, revision, date, ...await readPackages(root, ENTRIES) });
    const names = await writeRelease({
      ...flags,
      version,
      revision,
      released_at: new Date(),
      date,
      built,
      not_built,
      documents: await documentsOf(date),
      beside: {
        "svc.cdx.json": `${JSON.stringify(sbom, null, 2)}\n`,
        ...await installScripts(signer, base_url ?? ""),
      },
    });
    for (const name of names) console.log(join(out, name));
    for (const it of not_built) {
      console.log(`not built: ${archiveName(it)} (--targets leaves it out)`);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Parses `<target>=<path>` entries. @throws {Error} for an unknown system. */
function byTarget(entries: readonly string[]): Partial<Record<Target, string>> {
  return Object.fromEntries(entries.map((entry) => {
    const [, target, path] = entry.match(/^([^=]+)=(.+)$/) ?? [];
    return [knownTarget(target ?? entry), path];
  }));
}

function knownTarget(name: string): Target {
  const target = TARGETS.find((it) => it === name);
  if (target === undefined) throw new Error(`"${name}" is not one of ${TARGETS.join(", ")}`);
  return target;
}

/** Returns the runtimes in the environment; DENORT_BIN is this system's. */
function denortOf(env: (name: string) => string | undefined): Partial<Record<Target, string>> {
  const named = TARGETS.map((it) => [it, env(`DENORT_BIN_${it.replaceAll("-", "_")}`)] as const);
  const own = [Deno.build.target, env("DENORT_BIN")] as const;
  return Object.fromEntries([own, ...named].filter(([, path]) => path));
}

async function privateKey(file: string | undefined): Promise<string> {
  const pem = file === undefined
    ? Deno.env.get("SVC_RELEASE_PRIVATE_KEY")
    : await Deno.readTextFile(file);
  if (pem) return pem;
  throw new Error("the private key is missing: --key <file>, or SVC_RELEASE_PRIVATE_KEY");
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, {
    string: [
      "out",
      "targets",
      "denort",
      "binary",
      "channel",
      "min-version",
      "base-url",
      "key",
      "new-key",
      "expect-version",
    ],
    collect: ["denort", "binary"],
    unknown(arg) {
      throw new Error(`unknown argument ${arg}`);
    },
  });
  if (args["new-key"] !== undefined) {
    const { private_pem, public_key } = await newKey();
    await Deno.writeTextFile(args["new-key"], private_pem, { createNew: true, mode: 0o600 });
    console.log(public_key);
    Deno.exit(0);
  }
  const expected = args["expect-version"];
  if (expected !== undefined && expected !== version) {
    throw new Error(`deno.json says version ${version}, not ${expected}`);
  }
  const denort = { ...denortOf((name) => Deno.env.get(name)), ...byTarget(args.denort) };
  // A binary for another system must not use this system's runtime.
  Deno.env.delete("DENORT_BIN");
  await release({
    out: args.out ?? join(root, "dist", "release"),
    targets: args.targets?.split(",").map(knownTarget) ?? TARGETS,
    denort,
    binary: byTarget(args.binary),
    channel: args.channel ?? "stable",
    min_version: args["min-version"],
    base_url: args["base-url"],
    signer: await readSigner(await privateKey(args.key)),
  });
}
