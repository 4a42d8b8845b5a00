/**
 * Many sessions at once: each in its own directory, none held up by another. With SVC_SOAK=1 one of
 * them floods with 2 GB.
 */
import { assert, assertEquals } from "@std/assert";
import { startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const SESSIONS = 50;
const MANY = 200;
const FLOOD_MB = can_run_svc && Deno.env.get("SVC_SOAK") === "1" ? 500 : 50;

Deno.test({
  name: `${SESSIONS} sessions run pwd at the same time: each in its own directory`,
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const cwd = () => Deno.build.os === "linux" ? Deno.readLinkSync(`/proc/${daemon.pid}/cwd`) : "";
    const before = cwd();
    let moved = false;
    const watch = setInterval(() => moved ||= cwd() !== before, 5);
    const workdirs = Array.from({ length: SESSIONS }, (_, n) => place.mkdir(`project ${n}`));
    const sessions = await Promise.all(
      workdirs.map((workdir) => client.session({ workdir, approval: "auto" })),
    );
    const started = performance.now();
    const answers = await Promise.all(sessions.map((id, n) => {
      const relative = `write here.txt\n\`\`\`\n${n}\n\`\`\`\nrun pwd; cat here.txt`;
      return client.turn(id, relative, 60_000);
    }));
    console.log(`${SESSIONS} turns took ${Math.round(performance.now() - started)} ms`);
    clearInterval(watch);
    for (const [n, { data }] of answers.entries()) {
      assertEquals(data.stop_reason, "ok");
      assert(data.message.includes(`\n${workdirs[n]}\n${n}\n`), data.message);
      assertEquals(Deno.readTextFileSync(`${workdirs[n]}/here.txt`), `${n}\n`);
    }
    assertEquals([moved, cwd()], [false, before]);
  },
});

Deno.test({
  name: "a session that floods and tools that fail leave another one's events alone",
  ignore,
  async fn() {
    const answer = { instant: 100, pace_ms: 5 };
    const server = startOpenAiServer(() => answer, { open: true, capture: false });
    await using place = new Place();
    place.useLocalModel(server.url, `[agent]\napproval = "auto"\n`);
    const daemon = await place.serve();
    await using flood = await daemon.rpc();
    await using calm = await daemon.rpc();
    const flooding = await flood.session({ workdir: place.mkdir("flood") });
    const failing = await flood.session({ workdir: place.mkdir("fail") });
    const streaming = await calm.session({ workdir: place.mkdir("calm"), model: "local/m" });
    const delays: number[] = [];
    const take = calm.rpc.onEvent;
    calm.rpc.onEvent = (event) => {
      delays.push(Date.now() - Date.parse(event.at));
      take(event);
    };
    const quiet = await calm.turn(streaming, "stream");
    assertEquals(quiet.data.stop_reason, "ok");
    const p99 = () => delays.toSorted((a, b) => a - b)[Math.floor(delays.length * 0.99)];
    const undisturbed = p99();
    delays.length = 0;

    // The last one lasts until a turn of the other session went by, however fast the flood is.
    const more = "; until [ -e went ]; do yes | head -c 5M; done";
    const lines = Array(4).fill(`run yes | head -c ${FLOOD_MB}M`).join("\n") + more;
    let over = false;
    const flooded = flood.turn(flooding, lines, 300_000).finally(() => over = true);
    await flood.wait((it) => it.session_id === flooding && it.type === "session.tool_started");
    let turns = 0;
    let failures = 0;
    while (!over) {
      const [streamed, failed] = await Promise.all([
        calm.turn(streaming, "stream"),
        flood.turn(failing, "read nope.txt\nrun exit 3"),
      ]);
      assertEquals(streamed.data.message, "word ".repeat(100));
      assertEquals(failed.data.stop_reason, "ok");
      assert(failed.data.message.includes("failed: "));
      if (!over) turns++;
      Deno.writeTextFileSync(`${place.dir}/flood/went`, "");
      failures++;
    }
    assertEquals((await flooded).data.stop_reason, "ok");
    assert(turns > 0, "a whole turn went by while the flood ran");
    console.log(
      `${turns} turns and ${failures} failing ones during ${4 * FLOOD_MB} MB of output; ` +
        `p99 delay of an event ${p99()} ms, undisturbed ${undisturbed} ms`,
    );
    const done = flood.events.filter((it) =>
      it.type === "session.tool_completed" && it.session_id === flooding
    );
    assertEquals(done.length, 4);
    assert(done.every(({ data }) => data.ok && data.truncated && data.output.length < 64 * 1024));
    await server.close();
  },
});

Deno.test({
  name: `commands of ${MANY} sessions start at once: others are answered between their starts`,
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const sessions: string[] = [];
    for (let n = 0; n < MANY; n++) {
      const workdir = place.mkdir(`project-${n}`);
      sessions.push(await client.session({ workdir, approval: "auto" }));
    }
    // An answer takes its place among the events that the same connection is sent. Commands that were
    // started in one go end in one go.
    let ended = 0;
    const between: number[] = [];
    const take = client.rpc.onEvent;
    client.rpc.onEvent = (event) => {
      if (event.type === "session.tool_completed") ended++;
      take(event);
    };
    let over = false;
    const asking = (async () => {
      while (!over) {
        ended = 0;
        await client.rpc.call("daemon.health");
        between.push(ended);
      }
    })();
    const turns = await Promise.all(
      sessions.map((session_id) => client.turn(session_id, "run echo x", 300_000)),
    );
    over = true;
    await asking;
    for (const { data } of turns) assertEquals(data.stop_reason, "ok");
    assertEquals(between.reduce((sum, it) => sum + it), MANY);
    const most = Math.max(...between);
    console.log(`at most ${most} ends between two of ${between.length} answers`);
    assert(most <= MANY / 4, `${most} commands ended between two answers`);
  },
});
