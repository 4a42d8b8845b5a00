import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { bindByDescriptor, bindByPath } from "./binder.ts";

for (const [how, open] of [["descriptor", bindByDescriptor], ["path", () => bindByPath]] as const) {
  Deno.test({
    name: `many paths have the kinds that each has alone, by ${how}`,
    ignore: !granted("read", "write", "ffi") || Deno.build.os !== "linux",
    fn() {
      using binder = open();
      if (binder === undefined) return;
      const root = Deno.realPathSync(Deno.makeTempDirSync());
      try {
        for (const name of ["a", "a/inner", "b"]) Deno.mkdirSync(join(root, name));
        Deno.writeTextFileSync(join(root, "file"), "");
        Deno.symlinkSync("a", join(root, "link"));
        const kinds = {
          "a": "directory",
          "link": undefined,
          "a/inner": "directory",
          "link/inner": undefined,
          "file": "file",
          "file/inner": undefined,
          "missing": undefined,
          "missing/inner": undefined,
          "b": "directory",
        };
        const paths = [...Object.keys(kinds).map((name) => join(root, name)), "/"];
        const expected = [...Object.values(kinds), "directory" as const];
        assertEquals(binder.kinds(paths), expected);
        assertEquals(paths.map((path) => binder.kind(path)), expected);
      } finally {
        Deno.removeSync(root, { recursive: true });
      }
    },
  });
}
