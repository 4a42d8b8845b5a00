import { Chip } from "../ui/chip.tsx";

interface StateProps {
  state: "running" | "paused" | "ended" | "unreadable";
  activity: "idle" | "working" | "awaiting_approval";
  /** Why it is unreadable. */
  reason?: string;
}

const WORDS: Record<StateProps["state"] | StateProps["activity"], string> = {
  running: "Running",
  idle: "Idle",
  working: "Working",
  awaiting_approval: "Needs approval",
  paused: "Paused",
  ended: "Ended",
  unreadable: "Unreadable",
};

/** What a session does, in a word. */
export function StateChip({ state, activity, reason }: StateProps) {
  const shown = state === "running" ? activity : state;
  return <Chip tone={shown} title={reason}>{WORDS[shown]}</Chip>;
}
