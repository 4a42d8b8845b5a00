/** A question of the model: its options as buttons, and a field for the person's own words. */
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { exact, exactLine } from "../../../src/base/visible.ts";
import type {
  PersonAnswer,
  PersonQuestion as Asked,
} from "../../../src/protocol/person_question.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";

interface PersonQuestionProps {
  asked: Asked;
  /** Whether it may be answered yet. */
  armed: boolean;
  /** Gives the answer; without one the question is skipped. */
  onAnswer(answer: PersonAnswer | undefined): Promise<void>;
}

export function PersonQuestion({ asked, armed, onAnswer }: PersonQuestionProps) {
  const { question, options, multiple, free_text } = asked;
  const id = useId();
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
    <div
      class="approval person"
      role="group"
      aria-labelledby={id}
      // A key that is held down has answered once.
      onKeyDown={(event) => {
        if (event.repeat && event.target instanceof HTMLButtonElement) event.preventDefault();
      }}
    >
      <p class="approval-head">
        <Icon name="bell" />
        <strong>The model asks</strong>
      </p>
      <p id={id} class="person-question">{exact(question)}</p>
      {options.length > 0 && (
        <ul class="person-options">
          {options.map(({ label, description }) => (
            <li key={label}>
              <Button
                disabled={!armed}
                aria-pressed={multiple ? chosen.value.includes(label) : undefined}
                onClick={() => multiple ? toggle(label) : onAnswer({ chosen: [label] })}
              >
                {exactLine(label)}
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
              maxLength={10_000}
              value={words}
              onInput={({ currentTarget }) => words.value = currentTarget.value}
            />
          )}
        </Field>
      )}
      <div class="approval-actions">
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
      </div>
    </div>
  );
}
