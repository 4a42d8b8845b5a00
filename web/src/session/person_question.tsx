/** A question of the model: its options as buttons, and a field for the person's own words. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { exact, exactLine } from "../../../src/base/visible.ts";
import type {
  PersonAnswer,
  PersonQuestion as Asked,
} from "../../../src/protocol/person_question.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Actions, AskedText, Key } from "./approval_parts.tsx";

interface PersonQuestionProps {
  asked: Asked;
  /** Whether it may be answered yet. */
  armed: boolean;
  /** Whether all of it was in sight. */
  read: boolean;
  /** Mark where it begins and where it ends. */
  begin: RefObject<HTMLSpanElement>;
  end: RefObject<HTMLSpanElement>;
  /** Gives the answer; without one the question is skipped. */
  onAnswer(answer: PersonAnswer | undefined): Promise<void>;
}

export function PersonQuestion(
  { asked, armed, read, begin, end, onAnswer }: PersonQuestionProps,
) {
  const { question, options, multiple, free_text } = asked;
  const chosen = useSignal<readonly string[]>([]);
  const words = useSignal("");
  const text = words.value.trim();
  const answer = () => onAnswer({ chosen: [...chosen.value], ...(text !== "" && { text }) });
  const toggle = (label: string) => {
    chosen.value = chosen.value.includes(label)
      ? chosen.value.filter((it) => it !== label)
      : [...chosen.value, label];
  };
  return (
    <>
      <AskedText begin={begin} end={end}>
        <p class="person-question">{exact(question)}</p>
        {options.length > 0 && (
          <ul
            class="person-options"
            // A key that is held down has answered once.
            onKeyDown={(event) => event.repeat && event.preventDefault()}
          >
            {options.map(({ label, description }, n) => (
              <li key={label}>
                <Button
                  disabled={!armed}
                  aria-keyshortcuts={`${n + 1}`}
                  aria-pressed={multiple ? chosen.value.includes(label) : undefined}
                  onClick={() => multiple ? toggle(label) : onAnswer({ chosen: [label] })}
                >
                  {exactLine(label)} <Key name={`${n + 1}`} />
                </Button>
                {description && <span class="person-about">{exactLine(description)}</span>}
              </li>
            ))}
          </ul>
        )}
        {free_text && (
          <Field label="Your own words" optional={options.length > 0}>
            {(control) => (
              <textarea
                {...control}
                rows={2}
                dir="auto"
                maxLength={10_000}
                value={words}
                onInput={({ currentTarget }) => words.value = currentTarget.value}
              />
            )}
          </Field>
        )}
      </AskedText>
      <Actions hint={read ? undefined : "Scroll to the end to answer it"}>
        {(multiple || free_text) && (
          <Button
            tone="primary"
            icon="check"
            disabled={!armed || (text === "" && chosen.value.length === 0)}
            onClick={answer}
          >
            Answer
          </Button>
        )}
        <Button disabled={!armed} onClick={() => onAnswer(undefined)}>Skip</Button>
      </Actions>
    </>
  );
}
