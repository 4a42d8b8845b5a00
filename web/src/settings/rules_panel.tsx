import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Path } from "../ui/path.tsx";
import { Pending } from "../ui/states.tsx";
import { useSubmit } from "../ui/use_submit.ts";

type Rules = Result<"permissions.list">;
type Rule = Rules["rules"][number];
type Action = Rule["action"];

/** Rules may be changed in any face, and in daemon.toml by hand. */
const EVERY_MS = 5_000;

const ACTIONS: Record<Action, string> = {
  allow: "Allow without a question",
  ask: "Ask each time",
  deny: "Refuse",
};

/** What is allowed and refused without a question: shown, added, removed, and tried. */
export function RulesPanel() {
  const { client, announcer } = useApp();
  const live = useLive<Rules>({
    ask: () => client.ask("permissions.list", {}),
    every_ms: EVERY_MS,
  });
  const found = live.value.value;
  const remove = async (rule_id: string) => {
    await client.call("permissions.remove", { rule_id });
    announcer.say("Rule removed");
    await live.refresh();
  };
  const untrust = async (directory: string) => {
    await client.call("permissions.untrust", { directory });
    announcer.say("No longer trusted");
    await live.refresh();
  };
  return (
    <section class="panel" aria-labelledby="rules-heading">
      <h2 id="rules-heading">Permission rules</h2>
      {found === undefined
        ? <Pending of={live} lines={3} label="Loading the rules" />
        : <RuleTable rules={found.rules} onRemove={remove} />}
      {(found?.trusted ?? []).map(({ directory }) => (
        <p key={directory} class="facts">
          <span>Trusted with its own rules and hooks:</span>
          <Path path={directory} />
          <Button onClick={() => untrust(directory)}>Trust no longer</Button>
        </p>
      ))}
      <AddRule onAdded={live.refresh} />
      <TryLine />
    </section>
  );
}

function RuleTable(
  { rules, onRemove }: { rules: readonly Rule[]; onRemove(rule_id: string): Promise<void> },
) {
  if (rules.length === 0) {
    return <p class="hint">No rules yet: the approval mode of a session decides.</p>;
  }
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label="Rules">
      <table class="data-table">
        <caption class="visually-hidden">Rules, and where they hold</caption>
        <thead>
          <tr>
            <th scope="col">What happens</th>
            <th scope="col">Rule</th>
            <th scope="col">Where</th>
            <th scope="col">
              <span class="visually-hidden">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rules.map(({ action, rule, rule_id, source, directory, session_id }) => (
            <tr key={rule_id ?? `${source}${action}${rule}`}>
              <td>{ACTIONS[action]}</td>
              <td class="mono">{rule}</td>
              <td class="clip" title={directory ?? session_id}>
                {source === "config" ? "daemon.toml" : directory ?? session_id ?? "everywhere"}
              </td>
              <td>
                {rule_id !== undefined && (
                  <Button
                    label={`Remove ${rule}`}
                    onClick={() => onRemove(rule_id)}
                  >
                    Remove
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AddRule({ onAdded }: { onAdded(): Promise<unknown> }) {
  const { client, announcer } = useApp();
  const action = useSignal<Action>("allow");
  const rule = useSignal("");
  const directory = useSignal("");
  const { busy, error, submit } = useSubmit(async () => {
    const where = directory.value.trim();
    const place = where === ""
      ? { scope: "everywhere" as const }
      : { scope: "directory" as const, directory: where };
    await client.call("permissions.add", { action: action.value, rule: rule.value, ...place });
    rule.value = "";
    announcer.say("Rule added");
    await onAdded();
  });
  return (
    <form class="form" onSubmit={submit} aria-label="Add a rule">
      <div class="columns">
        <Field label="What happens">
          {(control) => (
            <select
              {...control}
              value={action}
              onChange={({ currentTarget }) => action.value = currentTarget.value as Action}
            >
              {Object.entries(ACTIONS).map(([it, words]) => (
                <option key={it} value={it}>{words}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Directory" hint="Everywhere without one." optional>
          {(control) => (
            <input
              {...control}
              class="mono"
              value={directory}
              onInput={({ currentTarget }) => directory.value = currentTarget.value}
            />
          )}
        </Field>
      </div>
      <Field label="Rule" hint="A tool, or a tool and a pattern: run_command: npm test *">
        {(control) => (
          <input
            {...control}
            class="mono"
            required
            maxLength={4_096}
            value={rule}
            onInput={({ currentTarget }) => rule.value = currentTarget.value}
          />
        )}
      </Field>
      {error.value && <p class="form-error" role="alert">{error}</p>}
      <footer class="form-foot">
        <Button type="submit" aria-busy={busy.value}>Add rule</Button>
      </footer>
    </form>
  );
}

/** Says what would happen to a command line, and why. */
function TryLine() {
  const { client } = useApp();
  const command = useSignal("");
  const said = useSignal("");
  const { busy, error, submit } = useSubmit(async () => {
    said.value = "";
    const { decision, decided_by, rule, part, why, approval } = await client.ask(
      "permissions.test",
      { command: command.value },
    );
    const by = rule === undefined
      ? decided_by === "mode" ? `the approval mode ${approval}` : "an earlier answer"
      : `the rule ${rule.rule}`;
    const because = [part, why].filter((it) => it !== undefined).join(": ");
    said.value = `${ACTIONS[decision]}, by ${by}${because === "" ? "" : ` (${because})`}`;
  });
  return (
    <form class="form" onSubmit={submit} aria-label="Try a command line">
      <Field label="Try a command line" hint="Nothing is run.">
        {(control) => (
          <input
            {...control}
            class="mono"
            required
            value={command}
            onInput={({ currentTarget }) => command.value = currentTarget.value}
          />
        )}
      </Field>
      <p role="status">{said.value}</p>
      {error.value && <p class="form-error" role="alert">{error}</p>}
      <footer class="form-foot">
        <Button type="submit" aria-busy={busy.value}>Try</Button>
      </footer>
    </form>
  );
}
