/** The binary that tests start: compiled once for the same sources. */
import { walk } from "@std/fs";
import { join, relative } from "@std/path";
import { sha256Hex } from "../../src/base/sha256.ts";
import { root } from "./files.ts";

/** What goes into the binary. A file too many here only compiles once more. */
const FOLDERS = ["src", "web", "install"];
const FILES = ["main.ts", "deno.json", "deno.lock"];
const NO_SOURCES = [/_test\.tsx?$/, /^web[/\\]dist[/\\]/];
const BINARY = join(root, "dist", Deno.build.os === "windows" ? "svc.exe" : "svc");
const STAMP = `${BINARY}.stamp`;

/** What else goes into it. */
const VARIABLES = ["DENORT_BIN", "SVC_RELEASE_PUBLIC_KEY", "SVC_RELEASE_MANIFEST_URL"];

/** Describes a file by its size and its last change. */
async function stateOf(path: string): Promise<string> {
  try {
    const { size, mtime } = await Deno.stat(path);
    return `${size} ${mtime?.getTime()}`;
  } catch {
    return "missing";
  }
}

/** Returns the hash of the sources below a directory, with the names and without the tests. */
export async function sourceHash(dir: string): Promise<string> {
  const files = [...FILES];
  for (const folder of FOLDERS) {
    for await (const { path } of walk(join(dir, folder), { includeDirs: false })) {
      files.push(relative(dir, path));
    }
  }
  const parts: string[] = [];
  for (const path of files.sort()) {
    if (NO_SOURCES.some((it) => it.test(path))) continue;
    parts.push(path, await sha256Hex(await Deno.readTextFile(join(dir, path))));
  }
  return await sha256Hex(parts.join("\n"));
}

/** Returns the hash of everything that a binary would be made from now. */
async function buildHash(): Promise<string> {
  const { sourceDate, sourceRevision } = await import("../../install/compile.ts");
  const parts = [root, JSON.stringify(Deno.version), JSON.stringify(Deno.build)];
  parts.push(await sourceRevision(), (await sourceDate()).toISOString());
  for (const name of VARIABLES) parts.push(`${name}=${Deno.env.get(name) ?? ""}`);
  parts.push(await stateOf(Deno.env.get("DENORT_BIN") || Deno.execPath()));
  parts.push(await sourceHash(root));
  return await sha256Hex(parts.join("\n"));
}

/** The binary, and whether it was there. */
export interface Binary {
  /** Undefined where Deno cannot compile: it may be unable to download its runtime. */
  path?: string;
  reused: boolean;
  /** What the compiler printed. */
  output: string;
}

/**
 * Compiles the binary, unless the one in dist was made from the same sources by this function.
 *
 * @throws {Error} when it cannot be compiled though DENORT_BIN names a runtime.
 * @throws the signal's reason when it fires before the compiler starts.
 */
export async function compiledBinary(signal: AbortSignal): Promise<Binary> {
  const hash = await buildHash();
  const stamp = await Deno.readTextFile(STAMP).catch(() => "");
  if (stamp === `${hash} ${await stateOf(BINARY)}`) {
    return { path: BINARY, reused: true, output: "" };
  }
  await Deno.remove(STAMP).catch(() => {});
  signal.throwIfAborted();
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    // The web app was built before the tests, and is built again only if it has changed since.
    args: ["task", "--quiet", "compile", "--web-if-stale", "--output", BINARY],
    cwd: root,
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    detached: Deno.build.os !== "windows",
  }).output();
  const output = new TextDecoder().decode(stderr).trim();
  if (!success) {
    if (Deno.env.get("DENORT_BIN")) throw new Error(`the binary cannot be compiled\n${output}`);
    return { reused: false, output };
  }
  await Deno.writeTextFile(STAMP, `${hash} ${await stateOf(BINARY)}`);
  return { path: BINARY, reused: false, output };
}
