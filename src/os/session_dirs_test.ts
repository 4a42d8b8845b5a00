import { assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { sessionDirs } from "./session_dirs.ts";

Deno.test({
  name: "the sessions index tells where sessions can write; a damaged one tells nothing",
  ignore: !granted("read", "write"),
  fn() {
    using dir = new TempDir();
    const index = dir.join("index.json");
    assertEquals(sessionDirs(index), []);
    const told = { a: { workdir: "/one" }, b: { workdir: "/two" }, c: { workdir: "/one" } };
    for (
      const [entries, expected] of [[told, ["/one", "/two"]], [{ a: null, b: 1 }, []], [null, []]]
    ) {
      Deno.writeTextFileSync(index, JSON.stringify(entries));
      assertEquals(sessionDirs(index), expected);
    }
    Deno.writeTextFileSync(index, "{");
    assertEquals(sessionDirs(index), []);
  },
});
