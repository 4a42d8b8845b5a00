import { useSignal } from "@preact/signals";
import type { Result } from "../rpc/api.ts";
import { BrowseButton, DirectoryPicker } from "../sessions/directory_picker.tsx";
import { ModelList } from "../sessions/model_list.tsx";
import { Field } from "../ui/field.tsx";
import { choicesOf, type SettingField, type SettingState, wordOf } from "./fields.ts";

interface SettingInputProps {
  field: SettingField;
  state: SettingState;
  info: Result<"daemon.info">;
  text: string;
  error?: string;
  onChange(text: string): void;
}

/** The control of one setting: what the file says, and the default where it says nothing. */
export function SettingInput({ field, state, info, text, error, onChange }: SettingInputProps) {
  const browsing = useSignal(false);
  const choices = choicesOf(field);
  // Without one in the file it is found at the start.
  const fallback = field.kind === "model" && state.default === undefined
    ? info.default_model
    : wordOf(field, state.default);
  const onInput = (
    { currentTarget }: { currentTarget: HTMLInputElement | HTMLSelectElement },
  ) => onChange(currentTarget.value);
  return (
    <Field label={field.label} hint={hintOf(field, state)} error={error}>
      {(control) => {
        if (choices !== undefined) {
          return (
            <select {...control} value={text} onChange={onInput}>
              <option value="">
                {fallback === "Default" ? fallback : `${fallback} (default)`}
              </option>
              {Object.entries(choices).map(([value, word]) => (
                <option key={value} value={value}>{word}</option>
              ))}
            </select>
          );
        }
        const input = (
          <input
            {...control}
            class={field.kind === "number" ? "" : "mono"}
            inputMode={field.kind === "number" ? "decimal" : undefined}
            list={field.kind === "model" ? "setting-models" : undefined}
            spellcheck={false}
            autocomplete="off"
            placeholder={fallback}
            value={text}
            onInput={onInput}
          />
        );
        if (field.kind === "model") {
          return (
            <>
              {input}
              <ModelList id="setting-models" info={info} />
            </>
          );
        }
        if (field.kind !== "directory") return input;
        return (
          <>
            <div class="joined">
              {input}
              <BrowseButton open={browsing} />
            </div>
            {browsing.value && <DirectoryPicker path={text} onPick={onChange} />}
          </>
        );
      }}
    </Field>
  );
}

function hintOf(field: SettingField, { in_use, restart }: SettingState): string | undefined {
  if (in_use === undefined) return field.hint;
  const until = restart ? "until the daemon restarts" : "until the configuration is reloaded";
  return `In use: ${wordOf(field, in_use)}, ${until}.`;
}
