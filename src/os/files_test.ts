import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import { inRealDirectory, openOwnFile } from "./files.ts";
import { readLines } from "./lines.ts";

const ignore = !granted("read", "write", "run") || Deno.build.os === "windows";

Deno.test({
  name: "a file of ours is opened as itself: no pipe, link, device or directory in its place",
  ignore,
  async fn() {
    using dir = new TempDir();
    const traps: Record<string, string> = {
      pipe: 'mkfifo "$1"',
      link: 'ln -s "$2" "$1"',
      device: 'ln -s /dev/zero "$1"',
      directory: 'mkdir "$1"',
    };
    const file = join(dir.path, "plain");
    Deno.writeTextFileSync(file, "one\n");
    for (const [name, line] of Object.entries(traps)) {
      const path = join(dir.path, name);
      await new Deno.Command("sh", { args: ["-c", line, "sh", path, file] }).output();
      const error = assertThrows(() => openOwnFile(path), SvcError) as SvcError;
      assertEquals(error.code, "permission_denied", name);
    }
    assertThrows(() => openOwnFile(join(dir.path, "none")), Deno.errors.NotFound);
    const lines = await Array.fromAsync(readLines(file, 0, 4));
    assertEquals(lines.map(({ line }) => line), ["one"]);
  },
});

Deno.test({
  name: "the directories above a path become real ones, whether it is there or not, and not itself",
  ignore,
  fn() {
    using dir = new TempDir();
    const [link, real] = [join(dir.path, "link"), dir.mkdir("real")];
    Deno.symlinkSync(real, link);
    Deno.symlinkSync(dir.path, join(real, "own"));
    assertEquals(inRealDirectory(join(link, "none/at/all")), join(real, "none/at/all"));
    assertEquals(inRealDirectory(join(link, "own")), join(real, "own"));
    assertEquals(inRealDirectory("/"), "/");
  },
});
