/** What a command that runs draws again, such as a progress bar, is seen as on a terminal. */
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** Draws a bar 300 times in three seconds, then two bars above each other, and waits for `go`. */
const COMMAND = String.raw`printf 'get a\n'
n=0; while [ $n -lt 300 ]; do n=$((n+1)); printf 'a %d%%\r' $n; sleep 0.01; done
printf '\033[2K\033[32mgot a\033[0m\n'
printf 'b 1\nc 1\n'
n=1; while [ $n -lt 9 ]; do n=$((n+1)); sleep 0.05; printf '\033[2A\033[2Kb %d\n\033[2Kc %d\n' $n $n; done
until [ -e go ]; do sleep 0.05; done
printf '\033[1A\033[2Kc done\n'`;
const THEN = "get a\ngot a\nb 9\nc 9";

Deno.test({
  name: "the terminal shows the bars of a running command as they stand, and the result has them",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command: COMMAND } }] },
      { text: "Done." },
    ]);
    const call = (method: string, params = {}) => it.call(method, params);
    await call("tui.snapshot");
    await it.send("go");
    const { data: { lane_id } } = await it.event("lane.created", ({ data }) =>
      data.kind === "tool");
    await call("tui.focus_lane", { lane_id });
    let view = "";
    await until(async () => {
      ({ view } = await call("tui.snapshot"));
      return view.includes("c 9");
    }, "the last bar");
    assertEquals(view.split("\n").slice(1, 5).map((it) => it.trimEnd()).join("\n"), THEN);
    const { deltas } = await call("lanes.get", { lane_id, tail: 1_000 });
    const bars = deltas.filter(({ redraws }: { redraws?: number }) => redraws !== undefined);
    assertEquals(bars.length > 0 && bars.length < 40, true, `${bars.length} of ${deltas.length}`);
    // deno-lint-ignore no-control-regex
    for (const { text } of deltas) assertNotMatch(text, /[\r\x1b\b]/);
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    const { data } = await it.event("session.tool_completed");
    assertEquals(data.output, THEN.replace("c 9", "c done"));
  },
});

Deno.test({
  name: "a terminal that comes while a bar is drawn shows it once, with what came before",
  ignore,
  async fn() {
    const command = String.raw`printf 'begin\n'; n=0
until [ -e go ]; do n=$((n+1)); printf 'bar %d\r' $n; sleep 0.02; done; printf '\nend\n'; until [ -e stop ]; do sleep 0.05; done`;
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command } }] },
      { text: "Done." },
    ]);
    await it.send("go");
    const { data: { lane_id } } = await it.event("lane.created", ({ data }) =>
      data.kind === "tool");
    await it.event("lane.delta", ({ data }) => data.lane_id === lane_id && data.delta_seq >= 2);
    // The interface begins here, and sees bars before it asks for what came before.
    await it.call("tui.snapshot");
    const seq = (await it.call("session.get")).last_seq;
    await it.event("lane.delta", (event) => event.data.lane_id === lane_id && event.seq > seq);
    await it.call("tui.focus_lane", { lane_id });
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    let view = "";
    await until(async () => {
      ({ view } = await it.call("tui.snapshot"));
      return /^end$/m.test(view);
    }, "the end");
    assertMatch(view, /^begin\s+bar \d+\s+end$/m);
    Deno.writeTextFileSync(join(it.workdir, "stop"), "");
    await it.event("turn.completed");
  },
});
