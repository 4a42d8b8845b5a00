/** The model, its effort and the mode, below the message. */
import { useApp } from "../app.ts";
import { EFFORTS } from "../../../src/protocol/effort.ts";
import type { Params } from "../rpc/api.ts";
import { type Approval, APPROVAL_WORDS } from "../sessions/approval.ts";
import { ModelPicker } from "../sessions/model_picker.tsx";
import type { SessionStore } from "./store.ts";

type Settings = Omit<Params<"session.configure">, "session_id">;

export function Chips({ store }: { store: SessionStore }) {
  const app = useApp();
  const { model, effort = "default", approval } = store.state;
  const configure = (settings: Settings) =>
    app.attempt(() => app.client.call("session.configure", { session_id: store.id, ...settings }));
  /** What is refused is not shown as if it held. */
  const choose = async (select: HTMLSelectElement, before: string, settings: Settings) => {
    if (!await configure(settings)) select.value = before;
  };
  return (
    <div class="chips">
      <ModelPicker model={model} onPick={(model) => configure({ model })} />
      <select
        class="composer-chip"
        aria-label="Thinking"
        title="Thinking, from the next turn on"
        value={effort}
        onChange={({ currentTarget }) =>
          choose(currentTarget, effort, { effort: currentTarget.value as Settings["effort"] })}
      >
        {(["default", ...EFFORTS] as const).map((it) => (
          <option key={it} value={it}>{`effort: ${it}`}</option>
        ))}
      </select>
      <select
        class="composer-chip"
        aria-label="Approvals"
        value={approval}
        onChange={({ currentTarget }) =>
          choose(currentTarget, approval, { approval: currentTarget.value as Approval })}
      >
        {Object.entries(APPROVAL_WORDS).map(([it, text]) => (
          <option key={it} value={it}>{text}</option>
        ))}
      </select>
    </div>
  );
}
