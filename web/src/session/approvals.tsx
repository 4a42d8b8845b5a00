import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { exactLine } from "../../../src/base/visible.ts";
import { alwaysText, shownDigest } from "../../../src/session/question.ts";
import { useApp } from "../app.ts";
import type { PendingApproval } from "../../../src/session/state.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { QuestionBody } from "./question.tsx";
import type { SessionStore } from "./store.ts";

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
  const armed = useArmed(pending.map(({ approval_id }) => approval_id).join());
  useEffect(() => {
    if (first) announcer.say(`Approval needed: ${exactLine(first.reason)}`);
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
          armed={armed}
          onDecide={() => focused.current = true}
        />
      ))}
    </section>
  );
}

interface ApprovalProps {
  approval: PendingApproval;
  store: SessionStore;
  /** Whether it may be answered yet. */
  armed: boolean;
  onDecide(): void;
}

function Approval({ approval, store, armed, onDecide }: ApprovalProps) {
  const { client } = useApp();
  const read = useSignal(false);
  const { approval_id, reason } = approval;
  const decide = async (decision: Decision) => {
    onDecide();
    const shown = await shownDigest(approval);
    await client.call("session.approve", { session_id: store.id, approval_id, decision, shown });
  };
  const always = alwaysText(approval);
  const allowable = armed && read.value;
  return (
    <div class="approval" role="group" aria-label={`Approval: ${exactLine(reason)}`}>
      <p class="approval-head">
        <Icon name="bell" />
        <strong>Allow this?</strong>
      </p>
      <QuestionBody question={approval} onRead={() => read.value = true} />
      <div
        class="approval-actions"
        // A key that is held down has answered once.
        onKeyDown={(event) => event.repeat && event.preventDefault()}
      >
        <Button
          tone="primary"
          icon="check"
          disabled={!allowable}
          onClick={() => decide("allow")}
        >
          Allow
        </Button>
        <Button disabled={!allowable} onClick={() => decide("allow_always")}>Always</Button>
        <Button tone="danger" disabled={!armed} onClick={() => decide("deny")}>Deny</Button>
        <span class="approval-rule">
          {read.value ? `Always allow: ${always}` : "Scroll to the end to allow it"}
        </span>
      </div>
    </div>
  );
}

/** How long a question stands in its place before it can be answered, in milliseconds. */
const ARM_MS = 500;

/**
 * Whether what is on the page has been there long enough: a click or a key that was meant for what
 * stood there before is no answer.
 */
function useArmed(shown: string): boolean {
  const [armed, setArmed] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setArmed(shown), ARM_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return armed === shown;
}
