import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { SvcError } from "../protocol/errors.ts";
import { parseAddDirectory } from "../protocol/added_directory.ts";
import { withAdded, withoutAdded } from "./added_dirs.ts";
import { usableAdded } from "./usable_added.ts";

const ignore = !granted("read", "write");

Deno.test("DIR:ro is a directory for reading, as container tools write it", () => {
  assertEquals(parseAddDirectory("/a:b"), { path: "/a:b", access: "write" });
  assertEquals(parseAddDirectory("/a:ro"), { path: "/a", access: "read" });
  assertEquals(parseAddDirectory("/a:ro:rw"), { path: "/a:ro", access: "write" });
});

Deno.test({
  name: "an added directory is absolute and real, and each bad one is refused with its rule",
  ignore,
  async fn() {
    const top = await Deno.realPath(await Deno.makeTempDir());
    const person_home = join(top, "me");
    const workdir = join(person_home, "code/project");
    const home = join(person_home, ".svc");
    const lib = join(person_home, "lib");
    for (const path of [workdir, `${workdir}/in`, home, `${lib}/.git/info`, `${lib}/deep`]) {
      Deno.mkdirSync(path, { recursive: true });
    }
    Deno.writeTextFileSync(join(person_home, "file"), "");
    Deno.symlinkSync(lib, join(person_home, "link"));
    const places = { workdir, home, person_home };
    const add = (path: string, now: Parameters<typeof withAdded>[0] = []) =>
      withAdded(now, [{ path, access: "write" }], places);
    try {
      const expected = [{ path: lib, access: "write" }] as const;
      for (const path of [lib, "../../lib", "~/lib", join(person_home, "link")]) {
        assertEquals(await add(path), [...expected]);
      }
      const read = [{ path: lib, access: "read" }] as const;
      assertEquals(await add(lib, read), [...expected]);
      assertEquals(await withoutAdded(expected, ["~/link"], places), []);
      const refusals: [string, string][] = [
        [join(top, "nowhere"), "does not exist"],
        ["~/file", "is not a directory"],
        ["/", "is the root of the file system"],
        ["/proc/self", "belongs to the kernel"],
        ["~", "holds your home directory"],
        [top, "holds your home directory"],
        [home, "is inside the home of svc"],
        [workdir, "is the session's working directory"],
        ["in", "is in the working directory"],
        ["..", "holds the working directory"],
        [`${lib}/.git/info`, "is inside a .git directory"],
      ];
      for (const [path, rule] of refusals) await assertRejects(() => add(path), SvcError, rule);
      await assertRejects(() => add(`${lib}/deep`, expected), SvcError, "added already");
      await assertRejects(() => withoutAdded([], [lib], places), SvcError, "added: none");

      assertEquals(usableAdded(expected, workdir), [...expected]);
      assertEquals(usableAdded(expected, join(lib, "deep")), []);
      // What was a directory leads elsewhere now.
      Deno.renameSync(lib, `${lib}-moved`);
      Deno.symlinkSync(home, lib);
      assertEquals(usableAdded(expected, workdir), []);
    } finally {
      await Deno.remove(top, { recursive: true });
    }
  },
});
