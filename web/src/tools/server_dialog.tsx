import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, RpcError } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { Dialog, FormFoot } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Loading } from "../ui/states.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import {
  type EditedServer,
  looksSecret,
  type Policy,
  referenceFor,
  type Row,
  rowFault,
} from "./policy.ts";

interface ServerDialogProps {
  /** The server to change; without it, a new one. */
  name?: string;
  onSaved(): Promise<unknown>;
  onClose(): void;
}

/** Adds a tool server to policy.yaml, or changes one. */
export function ServerDialog({ name, onSaved, onClose }: ServerDialogProps) {
  const { client } = useApp();
  const policy = useSignal<Policy | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  useEffect(() => {
    client.ask("mcp.get_policy", {}).then(
      (it) => policy.value = it,
      (thrown) => error.value = explain(thrown),
    );
  }, []);
  const found = policy.value;
  return (
    <Dialog
      title={name === undefined ? "New tool server" : `Edit ${name}`}
      onClose={onClose}
      wide
    >
      {error.value !== undefined
        ? <p class="form-error" role="alert">{error}</p>
        : found === undefined
        ? <Loading lines={6} label="Loading policy.yaml" />
        : <ServerForm name={name} policy={found} onSaved={onSaved} onClose={onClose} />}
    </Dialog>
  );
}

/** The fields that are a line each, by what they are called. */
const LINES = {
  name: "Name",
  command: "Program",
  url: "Address",
  auth_env: "Variable with the credential",
  timeout: "Time limit for a call",
  max_concurrent: "Calls at the same time",
} as const;

type Line = keyof typeof LINES;

function ServerForm({ name, policy, onSaved, onClose }: ServerDialogProps & { policy: Policy }) {
  const { client, announcer } = useApp();
  const before = policy.servers.find((it) => it.name === name);
  const transport = useSignal<EditedServer["transport"]>(before?.transport ?? "stdio");
  const trust = useSignal(before?.trust ?? "untrusted");
  const enabled = useSignal(before?.enabled ?? true);
  const lines = useSignal<Record<Line, string>>({
    name: before?.name ?? "",
    command: before?.command ?? "",
    url: before?.url ?? "",
    auth_env: before?.auth_env ?? "",
    timeout: before?.timeout ?? "",
    max_concurrent: String(before?.max_concurrent ?? ""),
  });
  /** Why the arguments are not shown, one a line. */
  const without_args = before?.args?.includes(null)
    ? "Not shown: one may be a secret."
    : before?.args?.some((it) => !it || /[\r\n]/.test(it))
    ? "Not shown: one is empty or has several lines."
    : undefined;
  /** A text once they were written. */
  const args = useSignal<string | undefined>(
    without_args === undefined ? before?.args?.join("\n") ?? "" : undefined,
  );
  const env = useSignal(rowsOf(before?.env));
  const headers = useSignal(rowsOf(before?.headers));
  const faults = useSignal<Record<string, string>>({});
  const first = before === undefined ? "name" : undefined;

  const { submit, ...foot } = useSubmit(async () => {
    const key = transport.value === "stdio" ? "env" : "headers";
    const fault = rowFault((key === "env" ? env : headers).value);
    faults.value = fault === undefined ? {} : { [key]: fault };
    if (fault !== undefined) return;
    const { name: new_name, command, url, auth_env, timeout, max_concurrent } = lines.value;
    const given = (text: string) => text.trim() === "" ? undefined : text.trim();
    const own: Partial<EditedServer> = transport.value === "stdio"
      ? {
        command: given(command),
        args: args.value === undefined ? before!.args : listOf(args.value),
        env: recordOf(env.value),
      }
      : {
        url: given(url) ?? (before?.url === null ? null : undefined),
        headers: recordOf(headers.value),
      };
    const server: EditedServer = {
      ...own,
      name: new_name.trim(),
      transport: transport.value,
      auth_env: given(auth_env),
      // What the file leaves out stays out of it.
      trust: trust.value === "untrusted" ? before?.trust && trust.value : trust.value,
      timeout: given(timeout),
      max_concurrent: given(max_concurrent) === undefined ? undefined : Number(max_concurrent),
      enabled: enabled.value ? before?.enabled && true : false,
    };
    try {
      await client.call("mcp.save_server", { revision: policy.revision, name, server });
    } catch (thrown) {
      const issues = thrown instanceof RpcError ? thrown.issues ?? [] : [];
      const known = issues.filter(({ path }) => Array.isArray(path) && isShown(String(path[1])));
      if (known.length === 0) throw thrown;
      faults.value = Object.fromEntries(
        known.map(({ path, message }) => [String(path[1]), message]),
      );
      return;
    }
    announcer.say(`Saved ${new_name.trim()}`);
    onClose();
    await onSaved();
  });
  const line = (key: Line, more: Record<string, unknown> = {}, hint?: string) => (
    <Field label={LINES[key]} hint={hint} optional={!more.required} error={faults.value[key]}>
      {(control) => (
        <input
          {...control}
          class="mono"
          spellcheck={false}
          autocomplete="off"
          data-focus={key === first || undefined}
          value={lines.value[key]}
          onInput={({ currentTarget }) =>
            lines.value = { ...lines.value, [key]: currentTarget.value }}
          {...more}
        />
      )}
    </Field>
  );

  return (
    <form class="form" onSubmit={submit}>
      <p class="field-hint">
        Saved in{" "}
        {policy.path}; its comments stay. Values that may be secrets are not shown, and stay unless
        you write others.
      </p>
      <div class="columns">
        {line("name", { required: true })}
        <Field label="Kind">
          {(control) => (
            <select
              {...control}
              value={transport}
              onChange={({ currentTarget }) =>
                transport.value = currentTarget.value as EditedServer["transport"]}
            >
              <option value="stdio">A program on this machine</option>
              <option value="http">An address</option>
            </select>
          )}
        </Field>
        <Field
          label="Trust"
          hint="Sessions that are not trusted use untrusted servers only."
        >
          {(control) => (
            <select
              {...control}
              value={trust}
              onChange={({ currentTarget }) =>
                trust.value = currentTarget.value as "trusted" | "untrusted"}
            >
              <option value="untrusted">untrusted</option>
              <option value="trusted">trusted</option>
            </select>
          )}
        </Field>
      </div>
      {transport.value === "stdio"
        ? (
          <>
            {line("command", { required: true })}
            <Field
              label="Arguments"
              hint={args.value === undefined
                ? `${without_args} They stay unless you write others.`
                : "One a line."}
              optional
              error={faults.value.args}
            >
              {(control) => (
                <textarea
                  {...control}
                  class="mono"
                  rows={2}
                  spellcheck={false}
                  value={args.value ?? ""}
                  onInput={({ currentTarget }) =>
                    args.value = currentTarget.value || (without_args ? undefined : "")}
                />
              )}
            </Field>
            <Rows
              title="Variables"
              noun="variable"
              rows={env}
              server={lines.value.name}
              error={faults.value.env}
            />
          </>
        )
        : (
          <>
            {line("url", {
              required: before?.url !== null,
              inputMode: "url",
              placeholder: before?.url === null ? "Stays as it is" : "https://",
            })}
            <Rows
              title="Headers"
              noun="header"
              rows={headers}
              server={lines.value.name}
              error={faults.value.headers}
            />
          </>
        )}
      {line(
        "auth_env",
        {},
        "A variable of the daemon's environment. A program gets it; an address gets it as a bearer token.",
      )}
      <div class="columns">
        {line("timeout", { placeholder: "30s" })}
        {line("max_concurrent", { placeholder: "8", inputMode: "numeric", pattern: "[0-9]+" })}
      </div>
      <Check label="Sessions can use it" value={enabled} />
      <FormFoot {...foot} action="Save" onClose={onClose} />
    </form>
  );
}

function isShown(field: string): boolean {
  return Object.hasOwn(LINES, field) || ["args", "env", "headers"].includes(field);
}

function rowsOf(values: Record<string, string | null> = {}): Row[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function recordOf(rows: readonly Row[]): Record<string, string | null> | undefined {
  const named = rows.filter(({ name }) => name.trim() !== "");
  if (named.length === 0) return undefined;
  return Object.fromEntries(named.map(({ name, value }) => [name.trim(), value]));
}

function listOf(text: string): string[] | undefined {
  const found = text.split("\n").filter((it) => it !== "");
  return found.length === 0 ? undefined : found;
}

interface RowsProps {
  title: string;
  noun: string;
  rows: Signal<Row[]>;
  server: string;
  error?: string;
}

/** Names with their values. */
function Rows({ title, noun, rows, server, error }: RowsProps) {
  const change = (at: number, changes: Partial<Row>) =>
    rows.value = rows.value.map((it, n) => n === at ? { ...it, ...changes } : it);
  return (
    <fieldset class="server-values">
      <legend>{title}</legend>
      {rows.value.map((row, n) => (
        <div key={n} class="server-value">
          <input
            class="mono"
            aria-label={`Name of ${noun} ${n + 1}`}
            placeholder="Name"
            spellcheck={false}
            autocomplete="off"
            value={row.name}
            // A value that is not shown belongs to its name.
            readOnly={row.value === null}
            onInput={({ currentTarget }) => change(n, { name: currentTarget.value })}
          />
          <input
            class="mono"
            aria-label={`Value of ${noun} ${n + 1}`}
            placeholder={row.value === null ? "Stays as it is" : "Value"}
            spellcheck={false}
            autocomplete="off"
            value={row.value ?? ""}
            onInput={({ currentTarget }) => change(n, { value: currentTarget.value })}
          />
          <Button
            label={`Remove ${noun} ${n + 1}`}
            icon="trash"
            tone="quiet"
            onClick={(event) => {
              const box = (event.currentTarget as Element).closest("fieldset")!;
              rows.value = rows.value.filter((_, at) => at !== n);
              box.querySelector<HTMLElement>(".server-add")!.focus();
            }}
          />
          {looksSecret(row) && (
            <p class="field-hint">
              This looks like a secret. Set it as a variable of the daemon's environment, and refer
              to it here.{" "}
              <Button onClick={() => change(n, { value: referenceFor(row, server) })}>
                Use {referenceFor(row, server)}
              </Button>
            </p>
          )}
        </div>
      ))}
      <Button
        class="server-add"
        icon="plus"
        onClick={() => rows.value = [...rows.value, { name: "", value: "" }]}
      >
        Add a {noun}
      </Button>
      {error !== undefined && <p class="field-error" role="alert">{error}</p>}
    </fieldset>
  );
}
