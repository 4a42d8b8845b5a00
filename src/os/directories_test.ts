import { assertEquals, assertRejects } from "@std/assert";
import { SvcError } from "../protocol/errors.ts";
import { listDirectories } from "./directories.ts";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";

const ignore = !granted("read", "write");
const ALL = { hidden: true, limit: 100 };

Deno.test({
  name: "directories are listed by name, files are not, links to directories are",
  ignore,
  async fn() {
    using dir = new TempDir();
    for (const name of ["b10", "b9", ".git", "a/.git"]) dir.mkdir(name);
    Deno.writeTextFileSync(dir.join("file"), "");
    Deno.symlinkSync(dir.join("a"), dir.join("link"));
    Deno.symlinkSync(dir.join("none"), dir.join("broken"));
    const { path, parent, directories, truncated } = await listDirectories(dir.path, {
      hidden: false,
      limit: 100,
    });
    assertEquals([path, parent], [dir.path, dir.join("..")]);
    assertEquals(directories.map((it) => [it.name, it.repository]), [
      ["a", true],
      ["b9", false],
      ["b10", false],
      ["link", true],
    ]);
    assertEquals(truncated, false);
    assertEquals((await listDirectories(dir.path, ALL)).directories[0].name, ".git");
  },
});

Deno.test({
  name: "a long listing is cut and says so",
  ignore,
  async fn() {
    using dir = new TempDir();
    for (let n = 0; n < 5; n++) dir.mkdir(`d${n}`);
    const { directories, truncated } = await listDirectories(dir.path, { hidden: false, limit: 3 });
    assertEquals([directories.length, truncated], [3, true]);
  },
});

Deno.test({
  name: "what is no directory is refused, each with its own code",
  ignore,
  async fn() {
    using dir = new TempDir();
    Deno.writeTextFileSync(dir.join("file"), "");
    const code = async (path: string) =>
      (await assertRejects(() => listDirectories(path, ALL), SvcError)).code;
    assertEquals(await code("relative"), "validation");
    assertEquals(await code(dir.join("file")), "validation");
    assertEquals(await code(dir.join("none")), "not_found");
    assertEquals(await code("/a\0b"), "validation");
  },
});
