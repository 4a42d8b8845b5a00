import { assertEquals } from "@std/assert";
import type { EventParams } from "../client/rpc.ts";
import { MAIN_LANE, MODEL_RETRY } from "../protocol/events.ts";
import { Progress } from "./chat_progress.ts";

/** What is told of an answer of which this came before and after its turn was cut off. */
function told(before: string[], after: string[]): { told: string; answer: string } {
  const progress = new Progress();
  let text = "";
  const take = (type: string, data: Record<string, unknown>) => {
    const line = progress.take({ type, data } as unknown as EventParams);
    if (line?.type === "text") text += line.text;
  };
  take("turn.started", {});
  take("session.delta", { text: "Before. " });
  take("cost.tick", {});
  for (const part of before) take("session.delta", { text: part });
  take("turn.continued", {});
  for (const part of after) take("session.delta", { text: part });
  return { told: text, answer: progress.answer };
}

Deno.test("an answer that is given again after a restart is told once", () => {
  const answer = "Before. One two three.";
  for (const after of [["One two three."], ["One", " two", " three."], ["One two ", "three."]]) {
    assertEquals(told(["One ", "two "], after), { told: answer, answer });
  }
  assertEquals(told([], ["One two three."]), { told: answer, answer });
});

Deno.test("held text is told once its answer stands; what was taken back never", () => {
  const progress = new Progress({ holds: true });
  let text = "";
  const take = (type: string, data: Record<string, unknown>) => {
    const line = progress.take({ type, data } as unknown as EventParams);
    if (line?.type === "text") text += line.text;
  };
  const retried = { lane_id: MAIN_LANE, text: "again", reason_code: MODEL_RETRY };
  take("session.delta", { text: "half" });
  take("lane.note", retried);
  take("session.delta", { text: "One." });
  assertEquals(text, "");
  take("cost.tick", {});
  assertEquals(text, "One.");
  take("session.delta", { text: " Two" });
  take("turn.continued", {});
  take("session.delta", { text: " Two, cut" });
  assertEquals([text, progress.rest(), progress.rest()], [
    "One.",
    { type: "text", text: " Two, cut" },
    undefined,
  ]);
});

Deno.test("one that goes another way is told anew, in a line of its own", () => {
  const { told: text, answer } = told(["One two "], ["One ", "2 ", "3."]);
  assertEquals(text, "Before. One two \nOne 2 3.");
  assertEquals(answer, "Before. One 2 3.");
});
