/**
 * Typing faster than lists and menus come: every key reaches what it was meant for, however the
 * bytes are cut. `SVC_FUZZ` is the number of runs, `SVC_FUZZ_SEED` repeats one.
 */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || !has_tmux;
const setting = (name: string) => can_run_svc ? Deno.env.get(name) : undefined;
const RUNS = Math.min(Number(setting("SVC_FUZZ") ?? 12), 400);

/** Numbers from 0 to below 1 that a seed repeats (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = state + 0x6d2b79f5 >>> 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

/** What is typed before the message, and what of it stands before that in the message. */
const CHOICES: readonly { keys: string; before?: string }[] = [
  { keys: "/theme\rdark\r" },
  { keys: "/effort\rlow\r" },
  { keys: "/approval\rauto\r" },
  { keys: "/changes\r\x1b[A\x03" },
  { keys: "\x10colours\rlight\r" },
  { keys: "\x10keys and\r\r\x7f" },
  { keys: "/vi off\r" },
  { keys: "/cost\r" },
  { keys: "\x12said before\r", before: "said before" },
  { keys: "@only_o\t", before: "@only_one.txt " },
];

Deno.test({
  name: "what is typed at once after a choice is in the message",
  ignore,
  async fn() {
    const seed = Number(setting("SVC_FUZZ_SEED") ?? Math.floor(Math.random() * 1e9));
    await using it = await Scenario.begin(() => ({ text: "ok" }));
    Deno.writeTextFileSync(`${it.workdir}/only_one.txt`, "");
    await it.turn("said before");
    await using terminal = await TmuxTerminal.open(it.place, { cols: 120, rows: 40 });
    await terminal.line(svcLine("chat", "--session", it.session_id));
    await terminal.shows("● ready");
    const random = randomOf(seed);
    const draft = async () => (await it.call("draft.get")).text as string;
    for (let run = 0; run < RUNS; run++) {
      const { keys, before = "" } = CHOICES[Math.floor(random() * CHOICES.length)];
      const text = `typed ${run}`;
      const whole = `${keys}${text}`;
      const most = [whole.length, 1, 3, 7][Math.floor(random() * 4)];
      const pieces: string[] = [];
      for (let at = 0; at < whole.length;) {
        const size = most === whole.length ? most : 1 + Math.floor(random() * most);
        // An Esc alone is a key.
        const end = whole[at + size - 1] === "\x1b" ? at + size + 2 : at + size;
        pieces.push(whole.slice(at, end));
        at = end;
      }
      const waits_ms = [0, 0, 5, 60][Math.floor(random() * 4)];
      for (const piece of pieces) {
        await terminal.type(piece);
        if (waits_ms > 0) await delay(waits_ms);
      }
      const wanted = `${before}${text}`;
      try {
        await until(async () => await draft() === wanted, `${wanted} is in the message`, 10_000);
      } catch {
        const found = { draft: await draft(), screen: await terminal.text() };
        throw new Error(
          `SVC_FUZZ_SEED=${seed}, run ${run}: ${
            JSON.stringify({ pieces, waits_ms, wanted, found })
          }`,
        );
      }
      await terminal.press("C-e", "C-u");
      await until(async () => await draft() === "", "an empty message");
    }
    const sent = it.client.of("user.message").map(({ data }) => data.text);
    assertEquals(sent, ["said before"]);
  },
});
