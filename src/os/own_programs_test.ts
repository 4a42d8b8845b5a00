import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { absence, ownDirs, ownProgram } from "./own_programs.ts";
import { holdsSystem } from "./paths.ts";

const ignore = Deno.build.os === "windows" || !granted("write", "sys");

Deno.test({
  name: "a program that svc runs is found where nobody else can write",
  ignore,
  fn() {
    using dir = new TempDir();
    const root = Deno.realPathSync(dir.mkdir("root"));
    const at = (name: string) => {
      Deno.mkdirSync(join(root, name), { recursive: true });
      return join(root, name);
    };
    const [open, work, own] = [at("open"), at("work/bin"), at("own")];
    const below = at("open/below");
    Deno.chmodSync(open, 0o777);
    for (const each of [open, below, work, own]) {
      Deno.writeTextFileSync(join(each, "tool"), "", { mode: 0o755 });
    }
    Deno.symlinkSync(own, join(root, "work/link"));
    Deno.symlinkSync(work, join(root, "led"));
    const writable = [join(root, "work")];
    const find = (...path: string[]) => ownProgram("tool", path.join(":"), writable);
    const refused = [open, below, work, join(root, "work/link"), join(root, "led"), "own", ""];
    for (const each of refused) assertEquals(find(each), undefined, each);
    assertEquals(find(...refused, own), join(own, "tool"));
    assertEquals(ownDirs([...refused, own].join(":"), writable), [own]);
    // Everyone may put things there, and nobody but their owner exchanges them.
    Deno.chmodSync(open, 0o1777);
    assertEquals(find(below), join(below, "tool"));
    // The directory is closed, and what lies in it leads out.
    Deno.removeSync(join(own, "tool"));
    Deno.symlinkSync(join(work, "tool"), join(own, "tool"));
    assertEquals(find(own), undefined);
    assertEquals(ownProgram("/any/tool", ""), "/any/tool");
  },
});

Deno.test({
  name: "why a program is not run: it is missing, a session can write to it, or others can",
  ignore,
  fn() {
    using dir = new TempDir();
    const bin = Deno.realPathSync(dir.mkdir("bin"));
    Deno.writeTextFileSync(join(bin, "tool"), "", { mode: 0o755 });
    assertEquals(absence("other", bin), "is not installed");
    const writable = ["/nowhere", "/"];
    const session = `is in ${bin}, which a session in / can write to`;
    assertEquals(absence("tool", bin, writable), session);
    Deno.chmodSync(bin, 0o777);
    assertEquals(ownProgram("tool", bin), undefined);
    assertEquals(absence("tool", bin), `is in ${bin}, where other users can replace it`);
  },
});

Deno.test("the root holds the system's programs, a project does not", () => {
  assertEquals(["/", "/usr", "/usr/local", "/home/me"].map(holdsSystem), [
    true,
    true,
    false,
    false,
  ]);
});
