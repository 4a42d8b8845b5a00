/** The bell of a terminal rings only while the person looks elsewhere. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const FOCUSED = "\x1b[I";
const ELSEWHERE = "\x1b[O";

Deno.test({
  name: "the end of a turn and a question ring the bell, unless the window has the focus",
  ignore: !can_run_svc || !has_tmux,
  async fn() {
    const slow = { text: ["wor", "king"], pace_ms: 400 };
    const asks = { calls: [{ name: "run_command", args: { command: "touch x" } }] };
    await using it = await Scenario.begin([slow, slow, slow, asks, { text: "ran" }], {
      start: { approval: "ask" },
    });
    const bytes = join(it.place.dir, "bytes");
    await using terminal = await TmuxTerminal.open(it.place);
    await terminal.line(svcLine("chat", "--session", it.session_id));
    await terminal.shows("● ready");
    await terminal.record(bytes);
    /** The bells that are not the ends of titles. */
    const bells = () =>
      // deno-lint-ignore no-control-regex -- bells are what is looked for
      Deno.readTextFileSync(bytes).replace(/\x1b\]\d+;[^\x07\x1b]*\x07/g, "").split("\x07").length -
      1;
    const turn = async (n: number) => {
      await terminal.line(`go ${n}`);
      await it.client.wait(
        () => it.client.of("turn.completed").length === n,
        `the end of turn ${n}`,
      );
      await terminal.shows(new RegExp(`go ${n}[^]*working[^]*● ready`));
    };
    // A terminal that does not tell of its focus is not rung.
    await turn(1);
    assertEquals(bells(), 0);
    await terminal.type(FOCUSED);
    await turn(2);
    assertEquals(bells(), 0);
    await terminal.type(ELSEWHERE);
    await turn(3);
    assertEquals(bells(), 1);
    await terminal.line("ask me");
    await terminal.shows("● waiting for you");
    await terminal.type(FOCUSED);
    await terminal.shows("1 y allow");
    assertEquals(bells(), 2);
  },
});
