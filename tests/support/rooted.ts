/** Tests of a unit's file operations, each in a temporary working directory of its own. */
import { dirname } from "@std/path";
import { chooseRooted } from "../../src/jail/rooted.ts";
import type { OpContext } from "../../src/jail/unit/files.ts";
import { Pace } from "../../src/jail/unit/pace.ts";
import { granted } from "./permissions.ts";

interface Place {
  /** Files to write first, by path relative to the working directory. */
  files?: Record<string, string>;
  /** Paths that the operations do not see, relative to the working directory. */
  hidden?: readonly string[];
}

/** Declares a test that runs operations on the files below a working directory. */
export function testUnit(
  name: string,
  run: (context: OpContext, workdir: string) => unknown,
  { files = {}, hidden = [] }: Place = {},
): void {
  Deno.test({
    name,
    ignore: !granted("read", "write"),
    async fn() {
      const workdir = await Deno.realPath(await Deno.makeTempDir({ prefix: "unit-" }));
      using rooted = chooseRooted(workdir);
      try {
        for (const [path, content] of Object.entries(files)) {
          await Deno.mkdir(dirname(`${workdir}/${path}`), { recursive: true });
          await Deno.writeTextFile(`${workdir}/${path}`, content);
        }
        const fs = rooted.view(hidden.map((path) => `${workdir}/${path}`));
        const pace = new Pace(new AbortController().signal);
        await run({ fs, workdir, home: undefined, pace }, workdir);
      } finally {
        await Deno.remove(workdir, { recursive: true });
      }
    },
  });
}
