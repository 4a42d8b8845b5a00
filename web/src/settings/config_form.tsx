import { useSignal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { type Result, RpcError } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import {
  changesOf,
  type Config,
  fieldsFor,
  GROUPS,
  inputsOf,
  type SettingField,
} from "./fields.ts";
import { SettingInput } from "./setting_input.tsx";

interface ConfigFormProps {
  config: Config;
  info: Result<"daemon.info">;
  /** What the settings that are shown are searched for. */
  filter: string;
  /** Asks for both again. */
  onSaved(): Promise<void>;
}

/** The settings of daemon.toml. What is typed stays, also where the file is changed meanwhile. */
export function ConfigForm({ config, info, filter, onSaved }: ConfigFormProps) {
  const { client, announcer, settings: drafts } = useApp();
  useState(() => drafts.value = { ...drafts.peek(), ...left() });
  const draft = (all: typeof drafts.value) => {
    drafts.value = all;
    leave(all);
  };
  const before = inputsOf(config);
  const faults = useSignal<Readonly<Record<string, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const inputs = { ...before, ...drafts.value };
  const changes = changesOf(before, inputs);
  const changed = Object.keys(changes).length;
  const found = fieldsFor(filter);
  // What is wrong with a setting is seen whatever was searched for.
  const shows = ({ key }: SettingField) => found.has(key) || key in faults.value;
  const none = changed === 0 && !GROUPS.some(({ fields }) => fields.some(shows));

  const { busy, error, submit } = useSubmit(async () => {
    if (changed === 0) return announcer.say("No changes");
    faults.value = {};
    try {
      const { revision } = config;
      const { restart } = await client.call("daemon.set_config", { changes, revision });
      announcer.say(
        restart.length > 0 ? "Saved; some changes take effect after a restart" : "Saved",
      );
    } catch (thrown) {
      faults.value = faultsOf(thrown);
      if (Object.keys(faults.value).length === 0) throw thrown;
      // Once they are marked.
      setTimeout(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
      return;
    }
    await onSaved();
    // What was typed meanwhile is not saved.
    draft(
      Object.fromEntries(
        Object.entries(drafts.peek()).filter(([key, text]) => text !== inputs[key]),
      ),
    );
  });
  const discard = () => {
    draft(faults.value = {});
    error.value = undefined;
  };

  return (
    <form
      ref={form}
      class="form settings-form"
      noValidate
      onSubmit={submit}
    >
      {GROUPS.map(({ name, title, fields }) => (
        <section
          key={name}
          class="panel"
          aria-labelledby={`settings-${name}`}
          hidden={!fields.some(shows)}
        >
          <h2 id={`settings-${name}`}>{title}</h2>
          <div class="settings-grid">
            {fields.filter(shows).map((field) => (
              <SettingInput
                key={field.key}
                field={field}
                state={config.settings[field.key]!}
                info={info}
                text={inputs[field.key]}
                error={faults.value[field.key]}
                onChange={(text) => draft({ ...drafts.value, [field.key]: text })}
              />
            ))}
          </div>
        </section>
      ))}
      {error.value && <p class="form-error" role="alert">{error}</p>}
      <footer class="settings-foot" hidden={none}>
        <p class="hint clip" title={config.path}>{config.path}</p>
        <Button onClick={discard}>Discard</Button>
        <Button type="submit" tone="primary" aria-busy={busy.value}>
          {changed === 0 ? "Save" : changed === 1 ? "Save 1 change" : `Save ${changed} changes`}
        </Button>
      </footer>
    </form>
  );
}

const STORED = "svc.settings";

/** What was typed before this tab was reloaded; no setting of the form is a secret. */
function left(): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? "{}");
  } catch {
    return {};
  }
}

function leave(drafts: Readonly<Record<string, string>>): void {
  try {
    sessionStorage.setItem(STORED, JSON.stringify(drafts));
  } catch {
    // They last as long as the page.
  }
}

/** What is wrong with which setting. */
function faultsOf(error: unknown): Record<string, string> {
  const issues = error instanceof RpcError ? error.issues ?? [] : [];
  const known = new Set<string>(GROUPS.flatMap(({ fields }) => fields.map(({ key }) => key)));
  return Object.fromEntries(
    issues.map(({ path, message }) => [typeof path === "string" ? path : path.join("."), message])
      .filter(([key]) => known.has(key)),
  );
}
