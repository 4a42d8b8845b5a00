import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import { isSettled, lookOver } from "./look_over.ts";
import { granted } from "../../../tests/support/permissions.ts";

const ignore = !granted("read", "write", "ffi") || Deno.build.os === "windows";

Deno.test({
  name: "every change of a directory changes how it looks, and nothing else does",
  ignore,
  // The C library stays open.
  sanitizeResources: false,
  fn() {
    const dir = Deno.realPathSync(Deno.makeTempDirSync());
    try {
      const at = (name: string) => join(dir, name);
      const put = (name: string, text: string) => Deno.writeTextFileSync(at(name), text);
      Deno.mkdirSync(at("deep/er"), { recursive: true });
      put("a", "one");
      put("deep/er/b", "two");
      Deno.symlinkSync("a", at("link"));
      let before = lookOver(dir)!;
      assertEquals(lookOver(dir), before);
      assert(!isSettled(before, before.newest_ms));
      assert(isSettled(before, before.newest_ms + 100));
      // Files keep their time of modification, so only the rest tells.
      const [{ atime, mtime }] = [Deno.statSync(at("a"))];
      const changes: Record<string, () => void> = {
        "same size, same time": () => {
          put("a", "six");
          Deno.utimeSync(at("a"), atime!, mtime!);
        },
        "mode": () => Deno.chmodSync(at("deep/er/b"), 0o640),
        "new file": () => put("deep/c", ""),
        "new directory": () => Deno.mkdirSync(at("empty")),
        "renamed": () => Deno.renameSync(at("deep/c"), at("deep/d")),
        "link": () => {
          Deno.removeSync(at("link"));
          Deno.symlinkSync("b", at("link"));
        },
        "removed": () => Deno.removeSync(at("deep/er"), { recursive: true }),
      };
      for (const [name, change] of Object.entries(changes)) {
        // A change within the same tick of the clock could look alike.
        while (Date.now() < before.newest_ms + 12);
        change();
        const after = lookOver(dir)!;
        assertNotEquals(after.print, before.print, name);
        before = after;
      }
      Deno.mkdirSync(at("deep/.svc"));
      const { print } = lookOver(dir)!;
      put("deep/.svc/journal", "x");
      assertEquals(lookOver(dir)!.print, print);
      for (let n = 0; n < 1_000; n++) put(`many${n}`, "");
      assertEquals(lookOver(dir), undefined);
    } finally {
      Deno.removeSync(dir, { recursive: true });
    }
  },
});
