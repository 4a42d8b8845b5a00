/** A registry of packages on loopback, for npm and for pip. */
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
    `{"name":"svc-outer","version":"2.0.0","main":"index.js","dependencies":{"svc-inner":"^1.0.0"}}`,
  "index.js": `module.exports = (n) => require("svc-inner")(n, n);\n`,
};
/** Writes a wheel: an archive with a list of what is in it. */
const WHEEL = `
import sys, zipfile
info = "svc_wheel-3.0.0.dist-info"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("svc_wheel.py", "def answer(): return 'from a wheel'\\n")
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: svc-wheel\\nVersion: 3.0.0\\n")
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "/RECORD", "svc_wheel.py,,\\n%s/METADATA,,\\n%s/WHEEL,,\\n%s/RECORD,,\\n" % (info, info, info))
`;
const WHEEL_NAME = "svc_wheel-3.0.0-py3-none-any.whl";

/** Packs `svc-outer`, which depends on `svc-inner`, and `svc-wheel`, and serves them. */
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
  const asked: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname, host } = new URL(request.url);
      asked.push(pathname);
      const tarball = tarballs.get(pathname);
      if (tarball !== undefined) return new Response(tarball);
      if (pathname === "/simple/svc-wheel/") {
        const page = `<a href="/${WHEEL_NAME}">${WHEEL_NAME}</a>`;
        return new Response(page, { headers: { "content-type": "text/html" } });
      }
      if (pathname === `/${WHEEL_NAME}`) return new Response(await Deno.readFile(wheel));
      const found = packages.find(([name]) => pathname === `/${name}`);
      if (found === undefined) return new Response("none", { status: 404 });
      const [name, version, files] = found;
      const dist = { tarball: `http://${host}/${name}/-/${name}-${version}.tgz` };
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
