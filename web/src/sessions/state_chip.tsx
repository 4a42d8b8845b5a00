import { clockText } from "../../../src/protocol/clock_text.ts";
import { Chip } from "../ui/chip.tsx";
import { type State, stateTone } from "./state_tone.ts";

interface StateProps extends State {
  /** Why it is unreadable. */
  reason?: string;
}

const WORDS: Record<Exclude<ReturnType<typeof stateTone>, "parked">, string> = {
  idle: "Idle",
  working: "Working",
  awaiting_approval: "Needs approval",
  paused: "Paused",
  ended: "Ended",
  unreadable: "Unreadable",
};

/** What a session does, in a word. */
export function StateChip(props: StateProps) {
  const tone = stateTone(props);
  const words = tone === "parked"
    ? `Parked until ${clockText(new Date(props.parked_until!))}`
    : WORDS[tone];
  return <Chip tone={tone} title={props.reason}>{words}</Chip>;
}
