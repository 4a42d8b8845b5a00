import { Chip } from "../ui/chip.tsx";
import { STATUS, type Task } from "./task.ts";

/** How a task stands, in a word. */
export function TaskChip({ task: { status, cancelled } }: { task: Task }) {
  const { tone, word } = STATUS[cancelled ? "cancelled" : status];
  return <Chip tone={tone}>{word}</Chip>;
}
