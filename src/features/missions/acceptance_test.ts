import { assertEquals } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { Kept, MemoryLog, newSession, TempDir } from "../../../tests/support/sessions.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import type { Decision } from "../../protocol/events.ts";
import { accept } from "./acceptance.ts";
import type { CheckRunner } from "./checks.ts";
import { MissionFiles } from "./files.ts";
import type { Mission } from "./mission.ts";
import { Report } from "./report.ts";
import { readSpec } from "./spec.ts";
import { MissionStore } from "./store.ts";
import type { Job, RunContext } from "./job.ts";

const CRITERION = { id: "c", description: "it holds", command: "missing" };
const TASK = { id: "t", description: "Do it." };
const SPEC = readSpec({
  id: "m",
  name: "M",
  sessions: [{ id: "s", title: "S", tasks: [TASK], acceptance_criteria: [CRITERION] }],
});
const MISSION: Mission = {
  id: "m-1",
  session_id: "sess_1",
  owns_session: false,
  workdir: "/w",
  spec: SPEC,
  options: { model: "a/b", approval: "ask", continue_on_failure: false, parallel: 1 },
  status: "running",
  created_at: "2026-01-02T03:04:05.000Z",
  cost_usd: 0,
};

/** Its commands can be meant, and their program is nowhere. */
const CHECKS: CheckRunner = {
  command(line) {
    const looks = line.startsWith('"$SHELL"') || line.startsWith("command -v");
    const [exit_code, output] = looks ? [0, ""] : [127, "sh: missing: command not found"];
    const end = { exit_code, output, signal: null, timed_out: false };
    return Promise.resolve({ ...end, truncated: false, duration_ms: 1 });
  },
  file: () => Promise.resolve({ ok: false, output: "" }),
  close() {},
};

/** What the criterion came to, and how often the person was asked about it. */
async function accepted(decision: Decision): Promise<{ status: string; asked: number }> {
  using dir = new TempDir();
  const session = await newSession(dir.join("journal.ndjson"));
  const store = new MissionStore(await openTestDb(dir.join("state.db")));
  store.insert(MISSION);
  const log = new MemoryLog();
  const files = new MissionFiles({ dir: dir.join("m"), mission_id: "m-1", spec: SPEC, log });
  const new_lane_id = () => "lane_1";
  const report = new Report({ mission_id: "m-1", session, store, files, log, new_lane_id });
  const asked = new Kept(async ({ type, data }) => {
    if (type !== "approval.requested") return;
    await session.approvals.decide(data.approval_id, decision, "test");
  });
  session.subscribe(asked, {}).start();
  const lane = await report.openLane("criteria");
  await lane.move("running", "test", "test");
  const job = {
    checks: CHECKS,
    ask: () => Promise.resolve({ stop_reason: "ok", message: "" }),
    integrate: () => Promise.resolve(undefined),
  } as unknown as Job;
  const context = { mission: MISSION, store, report } as unknown as RunContext;
  const { signal } = new AbortController();
  await accept(context, { criteria: [CRITERION], job, lane, signal });
  const { status } = store.criteria("m-1").get("c")!;
  store.close();
  session.journal.release();
  return {
    status,
    asked: asked.events.filter(({ type }) => type === "approval.requested").length,
  };
}

Deno.test({
  name: "a criterion that is checked again is asked about again, but not when always was said",
  ignore: !granted("read", "write", "ffi") || Deno.build.os === "windows",
  async fn() {
    assertEquals(await accepted("allow"), { status: "soft_passed", asked: 2 });
    assertEquals(await accepted("allow_always"), { status: "soft_passed", asked: 1 });
  },
});
