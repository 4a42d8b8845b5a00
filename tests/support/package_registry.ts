/** A registry of packages on loopback, for npm, pip, Cargo, Go and Maven. */
import { join } from "@std/path";

export interface PackageRegistry extends AsyncDisposable {
  /** `localhost:PORT` */
  readonly host: string;
  readonly url: string;
  /** The paths that were asked for. */
  readonly asked: string[];
}

const INNER = {
  "package.json": `{"name":"svc-inner","version":"1.2.3","main":"index.js"}`,
  "index.js": "module.exports = (a, b) => a * b;\n",
};
const OUTER = {
  "package.json":
    `{"name":"svc-outer","version":"2.0.0","main":"index.js","bin":{"svc-outer":"cli.js"},"dependencies":{"svc-inner":"^1.0.0"}}`,
  "index.js": `module.exports = (n) => require("svc-inner")(n, n);\n`,
  "cli.js": "#!/usr/bin/env node\nconsole.log('an npm program', require('./')(2));\n",
};
/** Writes a wheel: an archive with a list of what is in it. */
const WHEEL = `
import sys, zipfile
info = "svc_wheel-3.0.0.dist-info"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("svc_wheel.py", "def answer(): return 'from a wheel'\\ndef show(): print('a program', answer())\\n")
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: svc-wheel\\nVersion: 3.0.0\\n")
    wheel.writestr(info + "/entry_points.txt", "[console_scripts]\\nsvc-wheel = svc_wheel:show\\n")
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    names = ["METADATA", "entry_points.txt", "WHEEL", "RECORD"]
    wheel.writestr(info + "/RECORD", "svc_wheel.py,,\\n" + "".join("%s/%s,,\\n" % (info, name) for name in names))
`;
const WHEEL_NAME = "svc_wheel-3.0.0-py3-none-any.whl";

/** What `cargo package` would make. */
const CRATE = {
  "Cargo.toml": `[package]\nname = "svc-crate"\nversion = "1.4.0"\nedition = "2021"\n`,
  "src/lib.rs": 'pub fn answer() -> &\'static str { "from a crate" }\n',
  "src/main.rs": 'fn main() { println!("a program {}", svc_crate::answer()); }\n',
};
const GO_MODULE = "svc.example/part";
const GO_VERSION = "v1.5.0";
/** Writes the archive of a module, as the Go module proxy has it. */
const MODULE = `
import sys, zipfile
at = "${GO_MODULE}@${GO_VERSION}/"
with zipfile.ZipFile(sys.argv[1], "w") as module:
    module.writestr(at + "go.mod", "module ${GO_MODULE}\\n\\ngo 1.18\\n")
    module.writestr(at + "part.go", 'package part\\n\\nfunc Answer() string { return "from a module" }\\n')
    module.writestr(at + "svc-part/main.go", 'package main\\n\\nfunc main() { println("a Go program") }\\n')
`;
/** The parent of a project: what Maven fetches without any plugin. */
const POM = `<project><modelVersion>4.0.0</modelVersion><groupId>svc</groupId>` +
  `<artifactId>parent</artifactId><version>1.6.0</version><packaging>pom</packaging></project>`;

/** What the registries of languages with a static layout answer, by path. */
async function staticFiles(directory: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const at = join(directory, "crate", "svc-crate-1.4.0");
  for (const [file, text] of Object.entries(CRATE)) {
    Deno.mkdirSync(join(at, file, ".."), { recursive: true });
    Deno.writeTextFileSync(join(at, file), text);
  }
  const { stdout: crate } = await new Deno.Command("tar", {
    args: ["-czf", "-", "-C", join(directory, "crate"), "svc-crate-1.4.0"],
  }).output();
  const zip = join(directory, "module.zip");
  await new Deno.Command("python3", { args: ["-c", MODULE, zip] }).output().catch(() => {});
  const text = (content: string) => new TextEncoder().encode(content);
  const index = { name: "svc-crate", vers: "1.4.0", deps: [], features: {}, yanked: false };
  const module = `/go/${GO_MODULE}/@v/`;
  const pom = "/maven/svc/parent/1.6.0/parent-1.6.0.pom";
  return new Map([
    [
      "/crates/sv/c-/svc-crate",
      text(JSON.stringify({ ...index, cksum: await hexOf("SHA-256", crate) })),
    ],
    ["/crates/files/svc-crate/1.4.0/download", crate],
    [`${module}list`, text(`${GO_VERSION}\n`)],
    [`${module}${GO_VERSION}.info`, text(JSON.stringify({ Version: GO_VERSION }))],
    [`${module}${GO_VERSION}.mod`, text(`module ${GO_MODULE}\n\ngo 1.18\n`)],
    [`${module}${GO_VERSION}.zip`, await Deno.readFile(zip).catch(() => text(""))],
    [pom, text(POM)],
    [`${pom}.sha1`, text(await hexOf("SHA-1", text(POM)))],
  ]);
}

async function hexOf(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest(name, bytes)).toHex();
}

/**
 * Packs and serves: for npm `svc-outer`, which depends on `svc-inner`; for pip `svc-wheel`; below
 * `/crates` the sparse index of Cargo with `svc-crate`; below `/go` the module `svc.example/part`;
 * below `/maven` the parent `svc:parent`.
 */
export async function startPackageRegistry(directory: string): Promise<PackageRegistry> {
  const packages = [["svc-inner", "1.2.3", INNER], ["svc-outer", "2.0.0", OUTER]] as const;
  const tarballs = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [name, version, files] of packages) {
    const at = join(directory, name, "package");
    Deno.mkdirSync(at, { recursive: true });
    for (const [file, text] of Object.entries(files)) Deno.writeTextFileSync(join(at, file), text);
    const { stdout } = await new Deno.Command("tar", {
      args: ["-czf", "-", "-C", join(directory, name), "package"],
    }).output();
    tarballs.set(`/${name}/-/${name}-${version}.tgz`, stdout);
  }
  const wheel = join(directory, WHEEL_NAME);
  await new Deno.Command("python3", { args: ["-c", WHEEL, wheel] }).output().catch(() => {});
  const sums = new Map<string, Record<string, string>>();
  for (const [path, bytes] of tarballs) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", bytes)).toBase64();
    sums.set(path, { integrity: `sha512-${digest}`, shasum: await hexOf("SHA-1", bytes) });
  }
  const laid_out = await staticFiles(directory);
  const asked: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname, host } = new URL(request.url);
      asked.push(pathname);
      const tarball = tarballs.get(pathname);
      if (tarball !== undefined) return new Response(tarball);
      const file = laid_out.get(pathname);
      if (file !== undefined) return new Response(file);
      if (pathname === "/crates/config.json") {
        return Response.json({ dl: `http://${host}/crates/files/{crate}/{version}/download` });
      }
      if (pathname === "/simple/svc-wheel/") {
        const page = `<a href="/${WHEEL_NAME}">${WHEEL_NAME}</a>`;
        return new Response(page, { headers: { "content-type": "text/html" } });
      }
      if (pathname === `/${WHEEL_NAME}`) return new Response(await Deno.readFile(wheel));
      const found = packages.find(([name]) => pathname === `/${name}`);
      if (found === undefined) return new Response("none", { status: 404 });
      const [name, version, files] = found;
      const path = `/${name}/-/${name}-${version}.tgz`;
      const dist = { tarball: `http://${host}${path}`, ...sums.get(path) };
      const versions = { [version]: { ...JSON.parse(files["package.json"]), dist } };
      return Response.json({ name, "dist-tags": { latest: version }, versions });
    },
  );
  const host = `localhost:${server.addr.port}`;
  return {
    host,
    url: `http://${host}`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
