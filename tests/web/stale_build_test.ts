/** The web app is built again when what it is made from has changed, and only then. */
import { assert, assertEquals } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { isStale } from "../../install/web_stale.ts";
import { granted } from "../support/permissions.ts";

const root = fromFileUrl(new URL("../..", import.meta.url));
const MANIFEST = join(root, "web/dist/manifest.json");
const BUILT = new Date("2026-01-02T00:00:00Z");
const BEFORE = new Date("2026-01-01T00:00:00Z");
const AFTER = new Date("2026-01-03T00:00:00Z");

/** A project with a build that is newer than all that it is made from. */
class Project implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "svc-web-" });

  constructor() {
    for (const path of ["src/main.ts", "src/main_test.ts", "styles/app.css", "styles/old.css"]) {
      this.write(path, "");
    }
    this.write("dist/modules.json", JSON.stringify(["src/main.ts"]));
    this.write("dist/manifest.json", "{}");
    this.touch("styles", BEFORE);
    this.touch("dist/manifest.json", BUILT);
  }

  write(path: string, text: string): void {
    Deno.mkdirSync(dirname(join(this.dir, path)), { recursive: true });
    Deno.writeTextFileSync(join(this.dir, path), text);
    this.touch(path, BEFORE);
  }

  touch(path: string, at: Date): void {
    Deno.utimeSync(join(this.dir, path), at, at);
  }

  remove(path: string): void {
    Deno.removeSync(join(this.dir, path));
  }

  isStale(): Promise<boolean> {
    const build = {
      manifest: join(this.dir, "dist/manifest.json"),
      modules: join(this.dir, "dist/modules.json"),
    };
    return isStale(this.dir, build, ["styles"]);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const CHANGES: Record<string, [stale: boolean, change: (project: Project) => void]> = {
  "nothing changed": [false, () => {}],
  "a file changed that is not in it": [false, (it) => it.touch("src/main_test.ts", AFTER)],
  "a module changed": [true, (it) => it.touch("src/main.ts", AFTER)],
  "a module is gone": [true, (it) => it.remove("src/main.ts")],
  "a style changed": [true, (it) => it.touch("styles/app.css", AFTER)],
  "a style is gone": [true, (it) => it.remove("styles/old.css")],
  "its manifest is gone": [true, (it) => it.remove("dist/manifest.json")],
  "its list of modules is gone": [true, (it) => it.remove("dist/modules.json")],
};

for (const [what, [stale, change]] of Object.entries(CHANGES)) {
  Deno.test({
    name: `a build of the web app is ${stale ? "" : "not "}stale when ${what}`,
    ignore: !granted("read", "write"),
    async fn() {
      using project = new Project();
      change(project);
      assertEquals(await project.isStale(), stale);
    },
  });
}

/** Builds the app if a source is newer. @returns when the build was done, in milliseconds */
async function built(): Promise<number> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-check", "-A", join(root, "install/web.ts"), "--if-stale"],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return Deno.statSync(MANIFEST).mtime!.getTime();
}

Deno.test({
  name: "a stale build is made again, once; it says which modules it was made from: " +
    "of the page, its views, workers and frames",
  ignore: !granted("read", "write", "run", "env", "net", "sys"),
  async fn() {
    await built();
    Deno.utimeSync(MANIFEST, new Date(1_000), new Date(1_000));
    const again = await built();
    assert(again > 1_000, "it was left as it was");
    assertEquals(await built(), again);
    const modules: string[] = JSON.parse(
      Deno.readTextFileSync(join(root, "web/dist/modules.json")),
    );
    for (
      const path of [
        "web/src/main.tsx",
        "web/src/boot.ts",
        "web/src/settings/view.tsx",
        "web/src/offline/worker.ts",
        "web/src/diagram/frame.ts",
        "src/session/view.ts",
      ]
    ) assert(modules.includes(path), path);
    assertEquals(modules.filter((path) => path.endsWith("_test.ts")), []);
  },
});
