import { assertEquals } from "@std/assert";
import { applyToLanes, laneView, loadBefore } from "./lanes.ts";
import { emptyModel } from "./model.ts";
import { growLooked } from "./looks.ts";

function lane() {
  const started_at = "2026-01-01T00:00:00.000Z";
  const about = { lane_id: "l", kind: "tool", status: "running", label: "make" } as const;
  return laneView(emptyModel("s"), { ...about, started_at, delta_seq: 2 });
}

Deno.test("a lane's output from before the chat has its colours, also where pieces meet", () => {
  const shown = lane();
  growLooked(shown.output, "RED tail\nmore", [0, 3, 1]);
  loadBefore(shown, [
    { text: "good bad\n", looks: [0, 4, 2] },
    { text: "half ", looks: [0, 4, 3] },
  ]);
  assertEquals(shown.output.lines, ["good bad", "half RED tail", "more"]);
  assertEquals(shown.output.looks?.slice(0, 2), [[0, 4, 2], [0, 4, 3, 5, 3, 1]]);
});

Deno.test("lines that were drawn again have the colours of the last time", () => {
  const shown = lane();
  loadBefore(shown, [
    { text: "10%\n", looks: [0, 3, 1] },
    { text: "99%\n", redraws: 2, looks: [0, 3, 2] },
  ]);
  assertEquals([shown.output.lines, shown.output.looks], [["99%", ""], [[0, 3, 2], undefined]]);
  // A later redraw reaches into what came before.
  const model = emptyModel("s");
  const later = lane();
  model.lanes.push(later);
  const data = { lane_id: "l", delta_seq: 3, content_block: { text: "100%\n" }, redraws: 2 };
  const event = { type: "lane.delta", seq: 1, at: "", data: { ...data, looks: [0, 4, 3] } };
  applyToLanes(model, event as unknown as Parameters<typeof applyToLanes>[1]);
  loadBefore(later, [{ text: "begin\n" }, { text: "99%\n", looks: [0, 3, 2] }]);
  assertEquals(later.output.lines, ["begin", "100%", ""]);
  assertEquals(later.output.looks?.[1], [0, 4, 3]);
});
