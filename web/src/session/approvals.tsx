import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import type { PendingApproval } from "../../../src/session/state.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import type { SessionStore } from "./store.ts";
import { Arguments } from "./tool_card.tsx";

type Decision = "allow" | "allow_always" | "deny";

interface ApprovalsProps {
  store: SessionStore;
  /** Takes the focus when the last one is decided. */
  onNone(): void;
}

/** What the session waits for a person to decide. */
export function Approvals({ store, onNone }: ApprovalsProps) {
  const { announcer } = useApp();
  const pending = store.state.pending_approvals;
  const focused = useRef(false);
  const section = useRef<HTMLElement>(null);
  const first = pending[0];
  useEffect(() => {
    if (first) announcer.say(`Approval needed: ${first.reason}`);
    if (!focused.current) return;
    // The button that was pressed is gone: the focus goes on.
    focused.current = false;
    if (first) section.current?.querySelector("button")?.focus();
    else onNone();
  }, [first?.approval_id]);
  if (pending.length === 0) return null;
  return (
    <section ref={section} class="approvals" aria-label="Approvals">
      {pending.map((approval) => (
        <Approval
          key={approval.approval_id}
          approval={approval}
          store={store}
          onDecide={() => focused.current = true}
        />
      ))}
    </section>
  );
}

interface ApprovalProps {
  approval: PendingApproval;
  store: SessionStore;
  onDecide(): void;
}

function Approval({ approval, store, onDecide }: ApprovalProps) {
  const { client } = useApp();
  const { approval_id, tool, args, reason, rule } = approval;
  const decide = async (decision: Decision) => {
    onDecide();
    await client.call("session.approve", { session_id: store.id, approval_id, decision });
  };
  const always = rule === tool ? `every ${tool}` : rule.replace(/^run_command /, "");
  return (
    <div class="approval" role="group" aria-label={`Approval: ${reason}`}>
      <p class="approval-head">
        <Icon name="bell" />
        <strong>Allow this?</strong>
        <span class="clip" title={reason}>{reason}</span>
      </p>
      <div class="approval-body">
        <Arguments tool={tool} args={args} />
      </div>
      <div class="approval-actions">
        <Button tone="primary" icon="check" onClick={() => decide("allow")}>Allow</Button>
        <Button onClick={() => decide("allow_always")} title={`From now on: ${always}`}>
          Always
        </Button>
        <Button tone="danger" onClick={() => decide("deny")}>Deny</Button>
        <span class="approval-rule clip" title={always}>Always means: {always}</span>
      </div>
    </div>
  );
}
