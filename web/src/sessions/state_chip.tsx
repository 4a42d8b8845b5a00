import { clockText } from "../../../src/protocol/clock_text.ts";
import { Chip } from "../ui/chip.tsx";
import { type State, stateTone } from "./state_tone.ts";

interface StateProps extends State {
  /** Why it is unreadable. */
  reason?: string;
  temporary?: true;
}

/** What becomes of a temporary session. */
const TEMPORARY = "Deleted soon after the last who follows it leaves";

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
  if (props.temporary) return <Chip tone={tone} title={TEMPORARY}>{words}, temporary</Chip>;
  return <Chip tone={tone} title={props.reason}>{words}</Chip>;
}
