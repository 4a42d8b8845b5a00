import type { Result } from "../rpc/api.ts";
import { Chip } from "../ui/chip.tsx";

type Mission = Result<"mission.get">;
type Session = Mission["sessions"][number];
type Status =
  | Mission["status"]
  | Session["tasks"][number]["status"]
  | Session["acceptance_criteria"][number]["status"];

/** The colour of a status, and how it is called. */
export const STATUS: Record<Status, { tone: string; word: string }> = {
  pending: { tone: "pending", word: "Pending" },
  running: { tone: "running", word: "Running" },
  completed: { tone: "done", word: "Completed" },
  passed: { tone: "done", word: "Passed" },
  soft_passed: { tone: "blocked", word: "Let pass" },
  failed: { tone: "errored", word: "Failed" },
  cancelled: { tone: "cancelled", word: "Cancelled" },
  skipped: { tone: "skipped", word: "Skipped" },
};

/** How a mission, a task or a criterion stands, in a word. */
export function StatusChip({ status }: { status: Status }) {
  const { tone, word } = STATUS[status];
  return <Chip tone={tone}>{word}</Chip>;
}
