/** Finds searchable texts in journal events. */
import type { SessionEvent } from "../../protocol/events.ts";
import type { Speaker } from "./messages.ts";

export interface Said {
  seq: number;
  who: Speaker;
  text: string;
}

/** Searchable characters of a tool's output. */
const OUTPUT_MAX = 64 * 1024;

const KINDS = [
  "user.message",
  "user.withdrawn",
  "turn.completed",
  "session.tool_completed",
  "session.rewound",
  "session.checkpoint",
];
const KIND = new RegExp(`"kind":"(?:${KINDS.join("|").replaceAll(".", "\\.")})"`);

/** Reports whether a line may have text for the index; deltas are in later events again. */
export function concerns(line: string): boolean {
  return KIND.test(line.slice(0, 200));
}

/** A conversation's item in a checkpoint. */
interface Item {
  user?: string;
  seq?: number;
  step?: { first_seq: number; text: string; results: { seq?: number; output: string }[] };
}

/** Returns the texts of an event. */
// fold-ok: which texts of a record are searched
export function saidIn({ seq, type, data }: SessionEvent): Said[] {
  if (type === "user.message") return [{ seq, who: "person", text: data.text }];
  if (type === "turn.completed") return [{ seq, who: "model", text: data.message }];
  if (type === "session.tool_completed") return [tool(seq, data.output)];
  if (type !== "session.checkpoint") return [];
  const items = (data.transcript.items ?? []) as Item[];
  return items.flatMap(({ user, seq: own = seq, step }): Said[] => {
    if (user !== undefined) return [{ seq: own, who: "person", text: user }];
    if (step === undefined) return [];
    const outputs = step.results.map((it) => tool(it.seq ?? step.first_seq, it.output));
    return [{ seq: step.first_seq, who: "model", text: step.text }, ...outputs];
  });
}

function tool(seq: number, output: string): Said {
  return { seq, who: "tool", text: output.slice(0, OUTPUT_MAX) };
}
