import { assertEquals, assertNotEquals } from "@std/assert";
import { dirname, join } from "@std/path";
import { granted } from "../support/permissions.ts";
import { sourceHash } from "./binary.ts";

Deno.test({
  name: "a source that changes, comes, goes or moves makes another binary; a test does not",
  ignore: !granted("read", "write"),
}, async () => {
  const dir = await Deno.makeTempDir({ prefix: "svc-sources-" });
  try {
    const write = (path: string, text: string) => {
      Deno.mkdirSync(dirname(join(dir, path)), { recursive: true });
      Deno.writeTextFileSync(join(dir, path), text);
    };
    for (const path of ["main.ts", "deno.json", "deno.lock", "src/a.ts", "web/src/b.tsx"]) {
      write(path, path);
    }
    write("install/compile.ts", "");
    let before = await sourceHash(dir);
    const changes = async () => {
      const [last, now] = [before, await sourceHash(dir)];
      before = now;
      return last !== now;
    };
    write("src/a_test.ts", "a test");
    write("web/dist/page.html", "built");
    await Deno.utime(join(dir, "src/a.ts"), 1, 1);
    assertEquals(await changes(), false);
    for (const path of ["main.ts", "deno.json", "deno.lock", "src/a.ts", "web/src/b.tsx"]) {
      write(path, `${path} of today`);
      assertEquals(await changes(), true, path);
    }
    write("src/raw.json", "{}");
    assertEquals(await changes(), true);
    await Deno.rename(join(dir, "src/raw.json"), join(dir, "src/other.json"));
    assertEquals(await changes(), true);
    const with_other = await sourceHash(dir);
    await Deno.remove(join(dir, "src/other.json"));
    assertNotEquals(await sourceHash(dir), with_other);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
