import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { requireDirection } from "../../install/imports.ts";
import { granted } from "../support/permissions.ts";

const ignore = !granted("read", "write", "run");
const ROOT = fromFileUrl(new URL("../..", import.meta.url));

/** A sound tree: `top` uses `base`, and `base/face.ts` has an implementation. */
const SOUND = {
  "deno.json": "{}",
  "CONTRIBUTING.md": "| folder | what |\n| --- | --- |\n| `src/top/` | x |\n| `src/base/` | y |\n",
  "src/top/a.ts": 'import { open } from "../base/face.ts";\nexport const a = open();\n',
  "src/base/face.ts": "export interface Face {}\n" +
    'export const open = async () => (await import("./impl.ts")).impl;\n',
  "src/base/impl.ts": 'import type { Face } from "./face.ts";\nexport const impl: Face = {};\n',
};

/** Returns what writes the files of a tree. */
function putIn(root: string) {
  return async (path: string, text: string) => {
    await Deno.mkdir(join(root, path, ".."), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
  };
}

Deno.test("the imports of src go by the table in CONTRIBUTING.md", { ignore }, async () => {
  await requireDirection(ROOT);
});

Deno.test("a door that reaches past the dispatcher is refused", { ignore }, async () => {
  const root = await Deno.makeTempDir();
  const put = putIn(root);
  const folders = ["doors", "features", "features/tasks", "verbs", "session", "os", "protocol"];
  const inner = ["session/hub.ts", "features/tasks/engine.ts", "verbs/host.ts", "os/files.ts"];
  const outer = ["verbs/define.ts", "features/verb_types.ts", "protocol/errors.ts", "os/log.ts"];
  try {
    await put("deno.json", "{}");
    await put("CONTRIBUTING.md", folders.map((it) => `| \`src/${it}/\` | x |\n`).join(""));
    for (const path of [...inner, ...outer]) await put(`src/${path}`, "export type A = 1;\n");
    const imports = outer.map((path) => `import type { A } from "../${path}";\n`).join("");
    await put("src/doors/call.ts", imports);
    await put("src/doors/door.ts", 'import "./call.ts";\n');
    await requireDirection(root);
    for (const path of inner) {
      const ways = [
        `import "../${path}";`,
        `import type { A } from "../${path}";`,
        `export type B = import("../${path}").A;`,
        `export const b = () => import("../${path}");`,
      ];
      for (const way of ways) {
        await put("src/doors/door.ts", `import "./call.ts";\n${way}\n`);
        const { message } = await assertRejects(() => requireDirection(root), Error);
        assertStringIncludes(message, `src/doors/door.ts:2: imports src/${path}, and a door`, way);
      }
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("each kind of import that the table forbids is refused", { ignore }, async () => {
  const root = await Deno.makeTempDir();
  const put = putIn(root);
  try {
    for (const [path, text] of Object.entries(SOUND)) await put(path, text);
    await requireDirection(root);
    const seeds: [path: string, text: string, told: string][] = [
      ["src/base/b.ts", 'import "../top/a.ts";\n', "src/base/b.ts: imports src/top/a.ts"],
      ["src/base/b.ts", 'export type { A } from "../top/a.ts";\n', "imports src/top/a.ts"],
      ["src/base/b.ts", 'import type { A } from "../top/a.ts";\n', "imports src/top/a.ts"],
      ["src/base/b.ts", 'export type A = import("../top/a.ts").A;\n', "imports src/top/a.ts"],
      ["src/base/b.ts", 'export const b = () => import("../top/a.ts");\n', "imports src/top/a.ts"],
      ["src/new/b.ts", 'import "../base/face.ts";\n', "src/new/b.ts: its folder has no row"],
      ["src/base/impl.ts", 'import "./face.ts";\nexport const impl = {};\n', "a circle"],
      ["src/base/b.ts", 'import type { C } from "./c.ts";\nexport type B = C;\n', "a circle"],
    ];
    await put("src/base/c.ts", 'import type { B } from "./b.ts";\nexport type C = B;\n');
    await put("src/base/b.ts", "export type B = 1;\n");
    await requireDirection(root);
    for (const [path, text, told] of seeds) {
      const before = await Deno.readTextFile(join(root, path)).catch(() => undefined);
      await put(path, text);
      const { message } = await assertRejects(() => requireDirection(root), Error);
      assertStringIncludes(message, told, text);
      if (before === undefined) await Deno.remove(join(root, path));
      else await put(path, before);
    }
    assertEquals(await requireDirection(root), undefined);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
