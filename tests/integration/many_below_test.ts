/** A session above hundreds of others: its commands run, and see nothing of theirs. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { writeIndex, writeSession } from "../support/histories.ts";
import { instruct } from "../support/instruct.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !has_bubblewrap;

function names(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
}

/** Some lie beside each other, some each in a directory of its own. */
const placeOf = (n: number) => n % 10 === 0 ? `all/group-${n}/project` : `all/project-${n}`;

for (const count of [100, 1_000, 1_600]) {
  Deno.test({
    name: `commands of a session above ${count} others run, and see no file of theirs`,
    ignore,
    async fn() {
      await using place = new Place();
      const all = place.mkdir("all");
      const histories = Array.from({ length: count }, (_, n) => {
        const workdir = place.mkdir(placeOf(n));
        Deno.writeTextFileSync(join(workdir, "secret"), "secret\n");
        return writeSession(workdir, "stopped");
      });
      for (const path of ["all/plain", "all/group-0/plain"]) {
        Deno.writeTextFileSync(join(place.mkdir(path), "secret"), "not secret\n");
      }
      writeIndex(place, histories);
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const session_id = await client.session({
        workdir: all,
        model: "builtin/toolbelt",
        approval: "auto",
      });
      const run = async (command: string) => {
        return (await instruct(client, session_id, `run ${command}`)).output;
      };

      const secrets = await run("cat */secret */*/secret; ls -d project-* group-*/project | wc -l");
      assertEquals(secrets, `not secret\nnot secret\n${count}`);
      // Moved away, their directories would be unknown to the next command.
      await run("mv group-0 moved; mv project-1 moved; mv plain moved");
      assertEquals(names(all).filter((name) => !/^(project|group)-/.test(name)), [".svc", "moved"]);
      const before = names(join(all, "project-1"));
      await run("echo x > project-1/x; echo x > new");
      assertEquals(Deno.readTextFileSync(join(all, "new")), "x\n");
      assertEquals(names(join(all, "project-1")), before);
    },
  });
}
