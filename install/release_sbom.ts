/**
 * The software bill of materials of the binary: CycloneDX 1.6, for everything that main.ts loads.
 */
import { join } from "@std/path";

/** The npm packages of a module, from `deno info --json`. */
export type NpmPackages = Record<string, {
  name: string;
  version: string;
  dependencies: string[];
}>;

export interface SbomOptions {
  version: string;
  revision: string;
  date: Date;
  packages: NpmPackages;
  /** SHA-512 in base64 by package and version, from deno.lock. */
  integrity: Record<string, string>;
}

const PROGRAM = "svc";

/** Describes a release. @returns the document, to be written as JSON */
export function sbomOf(options: SbomOptions): Record<string, unknown> {
  const { version, revision, date, packages, integrity } = options;
  // A package may appear several times, for different peers.
  const dependencies = new Map<string, Set<string>>();
  const refs = new Map(Object.entries(packages).map(([id, it]) => [id, refOf(it)]));
  for (const [id, it] of Object.entries(packages)) {
    const needs = dependencies.get(refs.get(id)!) ?? new Set();
    for (const needed of it.dependencies) if (refs.has(needed)) needs.add(refs.get(needed)!);
    dependencies.set(refs.get(id)!, needs);
  }
  const byRef = new Map(Object.values(packages).map((it) => [refOf(it), it]));
  const sorted = [...byRef].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: date.toISOString(),
      component: {
        type: "application",
        "bom-ref": PROGRAM,
        name: PROGRAM,
        version,
        licenses: [{ license: { id: "MIT" } }],
        properties: [{ name: "svc:revision", value: revision }],
      },
    },
    components: [
      {
        type: "platform",
        "bom-ref": "deno",
        name: "deno",
        version: Deno.version.deno,
        purl: `pkg:github/denoland/deno@v${Deno.version.deno}`,
      },
      ...sorted.map(([ref, { name, version }]) => componentOf(ref, name, version, integrity)),
    ],
    dependencies: [
      { ref: PROGRAM, dependsOn: ["deno", ...sorted.map(([ref]) => ref)] },
      ...sorted.map(([ref]) => ({ ref, dependsOn: [...dependencies.get(ref)!].sort() })),
    ],
  };
}

function refOf({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

function componentOf(
  ref: string,
  name: string,
  version: string,
  integrity: Record<string, string>,
): Record<string, unknown> {
  const sha512 = integrity[`${name}@${version}`];
  const hashes = sha512 && [{ alg: "SHA-512", content: Uint8Array.fromBase64(sha512).toHex() }];
  const [, group, plain] = name.match(/^(?:(@[^/]+)\/)?(.+)$/)!;
  return {
    type: "library",
    "bom-ref": ref,
    ...(group ? { group } : {}),
    name: plain,
    version,
    purl: ref,
    ...(hashes ? { hashes } : {}),
  };
}

/**
 * Returns the packages of modules, according to Deno.
 *
 * @param root the source directory
 * @param entries modules relative to it, with everything they load
 */
export async function readPackages(
  root: string,
  entries: readonly string[],
): Promise<Pick<SbomOptions, "packages" | "integrity">> {
  const packages: NpmPackages = {};
  for (const entry of entries) {
    const { modules, npmPackages } = await denoInfo(root, entry);
    const loaded = modules.flatMap(({ npmPackage }) => npmPackage ?? []);
    for (const id of closure(loaded, npmPackages)) packages[id] = npmPackages[id];
  }
  const lock = JSON.parse(await Deno.readTextFile(join(root, "deno.lock")));
  const integrity = Object.fromEntries(
    Object.entries<{ integrity: string }>(lock.npm).map(([id, { integrity }]) => [
      id.replace(/^(.+?@[^_]+)_.*$/, "$1"),
      integrity.replace(/^sha512-/, ""),
    ]),
  );
  return { packages, integrity };
}

interface DenoInfo {
  modules: { npmPackage?: string }[];
  npmPackages: NpmPackages;
}

async function denoInfo(root: string, entry: string): Promise<DenoInfo> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Returns these packages and all their dependencies. */
function closure(ids: readonly string[], packages: NpmPackages): Set<string> {
  const found = new Set<string>();
  const waiting = [...ids];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    waiting.push(...packages[id].dependencies);
  }
  return found;
}
