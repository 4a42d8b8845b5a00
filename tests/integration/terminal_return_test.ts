/** What the terminal shows to somebody who comes back. */
import { assert, assertEquals } from "@std/assert";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "errors, retries, edits and cancellations are still there after a return and a crash",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { status: { code: 401, message: "a bad key" } },
      { status: { code: 500, message: "a bad day" } },
      { calls: [{ name: "write_file", args: { path: "a.txt", content: "one\n" } }] },
      { text: "Fine." },
      { text: ["one ", "two ", "three"], hang_after: 3 },
    ]);
    await it.turn("first");
    await it.turn("second");
    await it.send("third");
    await it.event("session.delta", ({ data }) => data.text.endsWith("three"));
    await it.call("session.cancel");
    await it.event("turn.completed", ({ data }) => data.stop_reason === "cancelled");
    const shown = async () => {
      const { view } = await it.call("tui.snapshot", { cols: 100, rows: 50 });
      return (view as string).split("\n").map((row) => row.trim());
    };
    const before = await shown();
    const parts = [
      "! turn error: local answered 401: a bad key",
      "local answered 500: a bad day; trying again",
      "a.txt",
      "Fine.",
      "one two three",
      "turn cancelled",
    ];
    for (const part of parts) assert(before.some((row) => row.includes(part)), part);
    await it.daemon.kill();
    await it.restart();
    const after = await shown();
    const last = before.findLastIndex((row) => row.includes("turn cancelled"));
    assertEquals(after.slice(0, last + 1), before.slice(0, last + 1));
  },
});

Deno.test({
  name: "a message that waits for the model says so until the model has it",
  ignore,
  async fn() {
    let go_on = () => {};
    const held = new Promise<void>((resolve) => go_on = resolve);
    await using it = await Scenario.begin([
      { text: ["one ", "two ", "three"], hang_after: 3, go_on: held },
      { text: "Both." },
    ]);
    await it.send("first");
    await it.event("session.delta", ({ data }) => data.text.endsWith("three"));
    const shows = (pattern: RegExp) =>
      until(async () => {
        const { view } = await it.call("tui.snapshot", { cols: 100, rows: 50 });
        return pattern.test(view);
      }, `${pattern}`);
    await shows(/› first/);
    await it.call("tui.press_key", { text: "second" });
    await it.call("tui.press_key", { key: "enter" });
    await shows(/› \(steers\) second/);
    go_on();
    await shows(/› second[^]*Both\./);
  },
});
