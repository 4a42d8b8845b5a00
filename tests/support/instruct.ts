import type { TestClient } from "./svc.ts";

/** How an instruction to the embedded model ended. */
export interface Instructed {
  ok: boolean;
  /** What its tool call gave. */
  output: string;
  /** What the model said of it. */
  message: string;
}

/** Runs one instruction of the embedded model that calls one tool. */
export async function instruct(
  client: TestClient,
  session_id: string,
  text: string,
): Promise<Instructed> {
  const { data, seq } = await client.turn(session_id, text);
  const call = client.events.findLast((event) =>
    event.session_id === session_id && event.type === "session.tool_completed" && event.seq < seq
  );
  const { ok, output } = call!.data;
  return { ok, output, message: data.message as string };
}
