import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { Field } from "../ui/field.tsx";
import { ModelList } from "./model_list.tsx";

interface ModelFieldProps {
  value: Signal<string>;
  hint?: string;
  /** Whether it may be empty, which means the daemon's default. */
  optional?: boolean;
}

/** Takes the id of a model. */
export function ModelField({ value, hint, optional = true }: ModelFieldProps) {
  const { client } = useApp();
  const info = useSignal<Result<"daemon.info"> | undefined>(undefined);
  useEffect(() => {
    client.ask("daemon.info", {}).then((it) => info.value = it).catch(() => {});
  }, []);
  return (
    <Field label="Model" hint={hint} optional={optional}>
      {(control) => (
        <>
          <input
            {...control}
            list="models"
            spellcheck={false}
            autocomplete="off"
            placeholder={info.value?.default_model ?? ""}
            value={value}
            onInput={({ currentTarget }) => value.value = currentTarget.value}
          />
          <ModelList id="models" info={info.value} />
        </>
      )}
    </Field>
  );
}
