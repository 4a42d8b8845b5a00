import { useApp } from "../app.ts";
import { type Approval, APPROVAL_WORDS } from "../sessions/approval.ts";
import type { SessionStore } from "./store.ts";

/** Shows what the session does without asking, and changes it at once. */
export function ModeSelect({ store }: { store: SessionStore }) {
  const app = useApp();
  const { approval } = store.state;
  const choose = async (select: HTMLSelectElement) => {
    const wanted = select.value as Approval;
    const params = { session_id: store.id, approval: wanted };
    // What is refused is not shown as if it held.
    if (!await app.attempt(() => app.client.call("session.configure", params))) {
      select.value = approval;
    }
  };
  return (
    <select
      class="composer-mode"
      aria-label="Approvals"
      value={approval}
      onChange={({ currentTarget }) => choose(currentTarget)}
    >
      {Object.entries(APPROVAL_WORDS).map(([it, text]) => (
        <option key={it} value={it}>{text}</option>
      ))}
    </select>
  );
}
