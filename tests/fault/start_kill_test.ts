/**
 * A daemon that is killed while sessions start: after the restart, each one that has left anything is
 * in the list and opens.
 *
 * SVC_START_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const KILLS = Number((granted("env") && Deno.env.get("SVC_START_KILLS")) || 15);
/** Sessions that start at once, so that a kill finds one in each of its steps. */
const AT_ONCE = 6;

/** The sessions that are on the disk or on the bus, and that no list shows. */
async function orphans({ home }: Place, workdir: string, { rpc }: TestClient) {
  const { sessions } = await rpc.call("session.list", { include_ended: true });
  const listed = new Set(sessions.map(({ id }: { id: string }) => id));
  const names = (path: string) => {
    try {
      return [...Deno.readDirSync(path)].map(({ name }) => name);
    } catch {
      return [];
    }
  };
  const unlisted = (ids: Iterable<string>) => [...new Set(ids)].filter((id) => !listed.has(id));
  const { events } = await rpc.call("bus.replay", { from_seq: 1, to_seq: 1e9 });
  const on_bus = events
    .filter(({ session_id, type }: Record<string, string>) =>
      session_id !== undefined && type !== "session.deleted"
    )
    .map(({ session_id }: Record<string, string>) => session_id);
  return {
    directories: unlisted(names(join(workdir, ".svc", "sessions"))),
    links: unlisted(names(join(home, "journals"))),
    marks: names(join(home, "ledger", "making")),
    on_bus: unlisted(on_bus),
  };
}

const NONE = { directories: [], links: [], marks: [], on_bus: [] };

Deno.test({
  name: `${KILLS} kills while sessions start: what is left of one is in the list and opens`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    const workdir = place.mkdir("work");
    const known = new Set<string>();
    let [answered, cut] = [0, 0];
    for (let kill = 1; kill <= KILLS; kill++) {
      const daemon = await place.serve();
      {
        await using client = await daemon.rpc();
        // What the first start of a daemon loads would take most of the time.
        if (kill % 2 === 0) await client.rpc.call("session.start", { workdir });
        const starts = Array.from(
          { length: AT_ONCE },
          () =>
            client.rpc.call("session.start", { workdir }).then(
              ({ session_id }) => void known.add(session_id),
              () => {},
            ),
        );
        await new Promise((done) => setTimeout(done, random.below(kill % 2 === 0 ? 20 : 60)));
        await daemon.kill();
        await Promise.all(starts);
      }
      const marks = join(place.home, "ledger", "making");
      try {
        if (Deno.readDirSync(marks)[Symbol.iterator]().next().done === false) cut++;
      } catch {
        // None was begun yet.
      }
      const next = await place.serve();
      await using client = await next.rpc();
      const { sessions } = await client.rpc.call("session.list", {});
      const ids = sessions.map(({ id }: { id: string }) => id);
      for (const id of known) assert(ids.includes(id), `kill ${kill}: ${id} was answered`);
      for (const { id, state } of sessions) {
        assertEquals(state, "running", `kill ${kill}: ${id}`);
        await client.rpc.call("session.get", { session_id: id });
      }
      // What observers were shown goes once the sessions are known.
      let left: unknown = {};
      await until(async () => {
        left = await orphans(place, workdir, client);
        return JSON.stringify(left) === JSON.stringify(NONE);
      }, `kill ${kill} to leave nothing`).catch(() => assertEquals(left, NONE, `kill ${kill}`));
      answered = known.size;
      await next.kill();
    }
    console.log(`${KILLS} kills: ${answered} sessions answered, ${cut} kills in the middle`);
  },
});

Deno.test({
  name: "control: a session that no list shows is seen by what it has left",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("work");
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    await client.rpc.call("session.start", { workdir });
    assertEquals(await orphans(place, workdir, client), NONE);
    const id = "sess_00000000000000000000000000";
    Deno.mkdirSync(join(workdir, ".svc", "sessions", id), { mode: 0o700 });
    Deno.symlinkSync(workdir, join(place.home, "journals", id));
    assertEquals(await orphans(place, workdir, client), {
      ...NONE,
      directories: [id],
      links: [id],
    });
  },
});
