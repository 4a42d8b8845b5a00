/**
 * Builds the web app into web/dist: bundled, minified, compressed, names with the hash of what is
 * in them. `src/doors/app.ts` serves it from there, the compiled binary from a copy inside itself.
 *
 *   deno task web [--if-stale]
 *
 * With --if-stale it does nothing when no source has changed since the last build.
 */
import mermaid from "@mermaid-js/tiny/dist/mermaid.tiny.js" with { type: "text" };
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { walk } from "@std/fs";
import { dirname, fromFileUrl, isAbsolute, join, relative } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { minify } from "terser";
import {
  type Asset,
  type Coding,
  CODINGS,
  CONTENT_SECURITY_POLICY,
  framePolicy,
  type Manifest,
} from "../src/doors/app.ts";
import { isStale } from "./web_stale.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
const web = join(root, "web");

/** Where the build is. */
const WEB_DIST = join(web, "dist");
const MANIFEST = join(WEB_DIST, "manifest.json");

/** The modules that the build was made from, as paths from the root. */
const MODULES = join(WEB_DIST, "modules.json");

/** What else it is made from. */
const SOURCES = ["web/styles", "web/icons", "web/index.html", "web/offline.html"]
  .concat("web/diagram.html", "web/manifest.webmanifest", "web/deno.json", "deno.json")
  .concat("deno.lock", "install/web.ts", "src/doors/app.ts");

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  webmanifest: "application/manifest+json",
};

/** The icons by what files of the build call them. */
const ICONS = {
  icon: "icon.svg",
  icon_waiting: "icon-waiting.svg",
  icon_192: "icon-192.png",
  icon_512: "icon-512.png",
  icon_maskable: "icon-maskable.png",
};

async function bundle(outdir: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--platform=browser",
      "--minify",
      // Says which modules it took.
      "--sourcemap=external",
      `--outdir=${outdir}`,
      ...args,
    ],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Returns the modules of this repository that the bundles in a folder were made from. */
async function modulesIn(out: string): Promise<string[]> {
  const found = new Set<string>();
  for await (const { path } of walk(out, { exts: [".map"] })) {
    const { sources }: { sources: string[] } = JSON.parse(await Deno.readTextFile(path));
    for (const source of sources) found.add(relative(root, join(dirname(path), source)));
  }
  return [...found].filter((path) => !path.startsWith("..") && !isAbsolute(path)).sort();
}

/** What `marked` makes of itself when it is loaded, and hangs on the function that it exports. */
const MARKED =
  /=new (?<made>[\w$]+);(?<kept>function (?<name>[\w$]+)\([^)]*\)\{[^{}]*\})\k<name>\.options=.*?\k<name>\.parse=\k<name>;var [^;]*\.parseInline;var [^;]*\.lex;/s;

/**
 * Takes out what makes the bundler keep all of `marked` that writes HTML: the app only reads with it.
 * Where another version has other code, the app is larger.
 */
function withoutMarked(text: string): string {
  return text.replace(MARKED, "=/*@__PURE__*/new $<made>;$<kept>");
}

/** Makes a module or a script smaller than the bundler does. */
async function smaller(text: string, module: boolean): Promise<string> {
  const { code } = await minify(text, {
    module,
    ecma: 2020,
    // Functions beside each other compress better.
    compress: { ecma: 2020, passes: 2, hoist_funs: true },
  });
  return code!;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await sha256(bytes)).toHex().slice(0, 16);
}

type FileContent = string | Uint8Array<ArrayBuffer>;

function bytesOf(content: FileContent): Uint8Array<ArrayBuffer> {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

/** Puts values in the places of a text that are called `%name%`. */
function filled(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce(
    (it, [name, value]) => it.replaceAll(`%${name}%`, value),
    text,
  );
}

/** Takes the files of one build; its manifest is the last, and comes whole. */
class Build {
  readonly manifest: Manifest = {};

  /** Adds a file under its own path. @returns its path. */
  async add(
    path: string,
    content: FileContent,
    immutable: boolean,
    policy?: string,
  ): Promise<string> {
    const bytes = bytesOf(content);
    const hash = await hashOf(bytes);
    const type = TYPES[path.split(".").at(-1)!] ?? TYPES.html;
    const packed = compressed(bytes);
    for (const [coding, content] of packed) {
      await write(join(WEB_DIST, hash + CODINGS[coding]), content);
    }
    const codings = packed.map(([coding]) => coding);
    this.manifest[path] = { codings, type, hash, immutable, policy } satisfies Asset;
    return path;
  }

  /** Adds a file whose path tells what is in it. @returns that path. */
  async addHashed(name: string, content: FileContent): Promise<string> {
    const hash = await hashOf(bytesOf(content));
    const [, stem, extension] = name.match(/^(.*)\.(\w+)$/)!;
    return this.add(`/assets/${stem}-${hash.slice(0, 8)}.${extension}`, content, true);
  }

  /**
   * Adds a page that is one file, as nothing that it could load would come to its own origin.
   *
   * @param scripts put into the places of the page that are called `<!--script-->`, in their order
   * @throws {Error} for a script that would end its element.
   */
  async addFrame(path: string, html: string, scripts: readonly string[]): Promise<void> {
    const hashes: string[] = [];
    for (const script of scripts) {
      if (/<\/?script/i.test(script)) throw new Error(`a script of ${path} names its element`);
      hashes.push((await sha256(bytesOf(script))).toBase64());
      // As a function: a script has dollars in it.
      html = html.replace("<!--script-->", () => `<script>${script}</script>`);
    }
    await this.add(path, html, false, framePolicy(hashes));
  }

  async finish(sources: readonly string[]): Promise<void> {
    await write(MODULES, new TextEncoder().encode(JSON.stringify(sources)));
    await write(MANIFEST, new TextEncoder().encode(JSON.stringify(this.manifest)));
    const kept = new Set(filesOf(this.manifest));
    const endings = Object.values(CODINGS);
    for await (const { name } of Deno.readDir(WEB_DIST)) {
      const ours = endings.some((ending) => name.endsWith(ending));
      if (ours && !kept.has(name)) await Deno.remove(join(WEB_DIST, name));
    }
  }
}

/** How gzip may look for what repeats: each splits a file into other blocks, none is best for all. */
const GZIP_WAYS = [5, 6, 7, 8, 9].flatMap((
  memLevel,
) => [{ level: 8, memLevel }, { level: 9, memLevel }]);

/** A file in each coding that is worth it, the smallest first. */
function compressed(bytes: Uint8Array): [Coding, Uint8Array][] {
  const [gzip] = GZIP_WAYS.map((way) => gzipSync(bytes, way)).sort((a, b) => a.length - b.length);
  const br = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
  });
  return br.length < gzip.length ? [["br", br], ["gzip", gzip]] : [["gzip", gzip]];
}

/** The names of the files that a build has. */
function filesOf(manifest: Manifest): string[] {
  return Object.values(manifest).flatMap(({ hash, codings }) =>
    codings.map((coding) => hash + CODINGS[coding])
  );
}

/** Two builds at once, of parallel tests, leave whole files. */
async function write(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}`;
  await Deno.writeFile(temporary, bytes);
  await Deno.rename(temporary, path);
}

/**
 * Builds the web app.
 *
 * @param if_stale does nothing when no source has changed since the last build
 * @throws {Error} what the bundler says about a source with an error.
 */
export async function buildWeb({ if_stale = false } = {}): Promise<void> {
  if (if_stale && !await isStale(root, { manifest: MANIFEST, modules: MODULES }, SOURCES)) return;
  await Deno.mkdir(WEB_DIST, { recursive: true });
  const out = await Deno.makeTempDir({ dir: WEB_DIST });
  try {
    // One after the other: two at once would both unpack the bundler where it was never used.
    await bundle(join(out, "app"), "--code-splitting", "web/src/main.tsx");
    await bundle(join(out, "boot"), "--format=iife", "web/src/boot.ts");
    for (const name of ["page.ts", "worker.ts"]) {
      await bundle(join(out, "offline"), "--format=iife", `web/src/offline/${name}`);
    }
    await bundle(join(out, "diagram"), "--format=iife", "web/src/diagram/frame.ts");
    await bundle(join(out, "styles"), "web/styles/app.css");
    const build = new Build();
    const read = (...path: string[]) => Deno.readTextFile(join(out, ...path));
    const modules = new Map<string, string>();
    for await (const { name } of Deno.readDir(join(out, "app"))) {
      if (name.endsWith(".map")) continue;
      // The bundler has put the hash into their names.
      if (name === "main.js") continue;
      modules.set(name, await smaller(withoutMarked(await read("app", name)), true));
    }
    for (const [name, text] of modules) await build.add(`/assets/${name}`, text, true);
    const app = `/assets/${firstOf(modules, await read("app", "main.js"))}`;
    const boot = await build.addHashed(
      "boot.js",
      await smaller(await read("boot", "boot.js"), false),
    );
    const styles = await build.addHashed("app.css", await read("styles", "app.css"));
    const icons: Record<string, string> = {};
    for (const [name, file] of Object.entries(ICONS)) {
      icons[name] = await build.addHashed(file, await Deno.readFile(join(web, "icons", file)));
    }
    const source = (name: string) => Deno.readTextFile(join(web, name));
    await build.add(
      "/manifest.webmanifest",
      filled(await source("manifest.webmanifest"), icons),
      false,
    );
    const script = await build.addHashed("offline.js", await read("offline", "page.js"));
    const offline = filled(await source("offline.html"), { ...icons, script });
    const offline_page = await build.addHashed("offline.html", offline);
    const worker = filled(await read("offline", "worker.js"), {
      offline: offline_page,
      offline_files: [script, icons.icon].join(" "),
    });
    await build.add("/worker.js", worker, false);
    await build.addFrame("/diagram.html", await source("diagram.html"), [
      mermaid.replaceAll("\r", ""),
      await read("diagram", "frame.js"),
    ]);
    // Browsers refuse this directive in a meta element; the header has it.
    const csp = CONTENT_SECURITY_POLICY.replace(/; frame-ancestors [^;]*/, "");
    const html = filled(await source("index.html"), { ...icons, csp, boot, app, styles });
    await build.add("/", html, false);
    await build.finish(await modulesIn(out));
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}

/** Copies the build into a folder. */
export async function copyWeb(to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  const manifest: Manifest = JSON.parse(await Deno.readTextFile(MANIFEST));
  for (const name of ["manifest.json", ...filesOf(manifest)]) {
    await Deno.copyFile(join(WEB_DIST, name), join(to, name));
  }
}

/**
 * The one file that the page begins with: what the entry imports, without the bundler's helpers that
 * nothing in it needs.
 *
 * @throws {Error} when it takes more than one.
 */
function firstOf(modules: Map<string, string>, entry: string): string {
  const loadsViews = (name: string) => modules.get(name)!.includes("import(");
  const entries = importsOf(entry).filter(loadsViews);
  const needed = [...entries, ...entries.flatMap((name) => importsOf(modules.get(name)!))];
  if (needed.length === 1) return needed[0];
  throw new Error(
    `the page would begin with ${needed.join(", ")}: what is loaded later must import main.tsx`,
  );
}

/** The files that a module takes before it runs. */
function importsOf(code: string): string[] {
  return [...code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, name]) => name);
}

if (import.meta.main) {
  const { "if-stale": if_stale } = parseArgs(Deno.args, { boolean: ["if-stale"] });
  await buildWeb({ if_stale });
}
