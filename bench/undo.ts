/** What keeping the states of a large repository costs turns that write. */
import { delay } from "@std/async";
import { join } from "@std/path";
import type { EventParams } from "../src/client/rpc.ts";
import { Scenario } from "../tests/support/scripted.ts";
import { type Figure, median, short } from "./figures.ts";

const FILES = 50_000;
const DIRECTORIES = 3_000;
const FILE_BYTES = 4_000;
const TURNS = 10;
/** What a model takes as a rule until its first call. */
const THINKS_MS = 2_000;
/** What changed in the same second is looked at again. */
const SETTLE_MS = 1_500;
const GIT = "git -c user.name=a -c user.email=a@b.invalid -c core.compression=1 -c gc.auto=0";

/** Turns that write in a repository of 50,000 files, beside `git status` in it. */
export async function undo(): Promise<Figure[]> {
  let thinks_ms = 0;
  await using it = await Scenario.begin(async ({ messages }) => {
    if (messages.at(-1)?.role !== "user") return { text: "Done." };
    await delay(thinks_ms);
    const args = { path: `by-${messages.length}`, content: "x" };
    return { calls: [{ name: "write_file", args }] };
  });
  await makeRepository(it.workdir);
  const first = await turn(it);
  // Another session would begin with what the first one has stored.
  await it.call("session.kill");
  await it.call("session.delete");
  const { workdir, model } = it;
  it.session_id = await it.client.session({ workdir, model, approval: "auto" });
  await delay(SETTLE_MS);
  thinks_ms = THINKS_MS;
  const thought = await turn(it);
  thinks_ms = 0;
  const before: number[] = [];
  const after: number[] = [];
  const status: number[] = [];
  for (let n = 0; n < TURNS; n++) {
    await delay(SETTLE_MS);
    status.push(await git(it.workdir, "git --no-optional-locks status --porcelain"));
    const kept = await turn(it);
    before.push(kept.before);
    after.push(kept.after);
  }
  const plain = median(status);
  const against = (ms: number) => `${short(ms / plain)} times git status`;
  return [
    {
      id: "undo_first",
      name: `undo: first state of ${FILES} files in a repository`,
      unit: "ms",
      value: first.before,
      note: `${against(first.before)}, ${FILES * FILE_BYTES / 1e6} MB`,
    },
    {
      id: "undo_first_thought",
      name: `undo: the same, for a model that answers after ${THINKS_MS / 1000} s`,
      unit: "ms",
      value: thought.before,
      note: `${against(thought.before)}; aim 300`,
    },
    {
      id: "undo_before",
      name: "undo: state before the first write of a later turn",
      unit: "ms",
      value: median(before),
      note: `${against(median(before))}, median of ${TURNS}; aim 300, 50 without changes`,
    },
    {
      id: "undo_after",
      name: "undo: state after a turn that wrote one file",
      unit: "ms",
      value: median(after),
      note: `${against(median(after))}, median of ${TURNS}`,
    },
  ];
}

async function makeRepository(workdir: string): Promise<void> {
  for (let n = 0; n < DIRECTORIES; n++) {
    Deno.mkdirSync(join(workdir, `d${n % 30}/m${n}`), { recursive: true });
  }
  for (let n = 0; n < FILES; n++) {
    const directory = n % DIRECTORIES;
    const text = `line of file ${n}\n`.repeat(FILE_BYTES / 20);
    Deno.writeTextFileSync(join(workdir, `d${directory % 30}/m${directory}/f${n}`), text);
  }
  await git(workdir, `git init -q . && ${GIT} add -A && ${GIT} commit -qm base && ${GIT} gc -q`);
  await delay(SETTLE_MS);
  await git(workdir, "git status --porcelain");
}

async function git(cwd: string, script: string): Promise<number> {
  const began = performance.now();
  const { success } = await new Deno.Command("sh", { args: ["-c", script], cwd }).output();
  if (!success) throw new Error(`${script} failed`);
  return performance.now() - began;
}

/** Runs a turn that writes. @returns how long it waited for its states, in ms */
async function turn(it: Scenario): Promise<{ before: number; after: number }> {
  const from = it.client.events.length;
  await it.turn("go");
  const events = it.client.events.slice(from);
  const at = (fits: (event: EventParams) => boolean) => Date.parse(events.find(fits)!.at);
  const kept = (moment: string) =>
    at(({ type, data }) => type === "files.kept" && data.moment === moment);
  const started = at(({ type }) => type === "session.tool_started");
  const ended = Math.max(
    ...events.filter(({ type }) => type === "lane.cost").map((event) => Date.parse(event.at)),
  );
  return { before: kept("before") - started, after: kept("after") - ended };
}
