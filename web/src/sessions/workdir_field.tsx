import { type Signal, useSignal } from "@preact/signals";
import { Field } from "../ui/field.tsx";
import { BrowseButton, DirectoryPicker } from "./directory_picker.tsx";

interface WorkdirProps {
  value: Signal<string>;
  hint: string;
  /** Why the directory will not do. */
  error?: string;
}

/** Takes a directory: typed, or found by walking the machine's. A dialog begins with it. */
export function WorkdirField({ value, hint, error }: WorkdirProps) {
  const browsing = useSignal(false);
  return (
    <>
      <Field label="Directory" hint={hint} error={error}>
        {(control) => (
          <div class="joined">
            <input
              {...control}
              class="mono"
              required
              data-focus
              spellcheck={false}
              autocomplete="off"
              placeholder="/home/you/project"
              value={value}
              onInput={({ currentTarget }) => value.value = currentTarget.value}
            />
            <BrowseButton open={browsing} />
          </div>
        )}
      </Field>
      {browsing.value && (
        <DirectoryPicker
          path={value.value}
          onPick={(path) => value.value = path}
        />
      )}
    </>
  );
}
