import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exactLine } from "../../../src/base/visible.ts";
import { askedOf, type PersonAnswer } from "../../../src/protocol/person_question.ts";
import { alwaysText, choiceText, RULE_SCOPES, shownDigest } from "../../../src/session/question.ts";
import type { Announcer } from "../announcer.ts";
import { useApp } from "../app.ts";
import type { PendingApproval } from "../../../src/session/session_state.ts";
import { RpcError } from "../rpc/api.ts";
import { Boundary } from "../ui/boundary.tsx";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { PersonQuestion } from "./person_question.tsx";
import { QuestionBody, Words } from "./question.tsx";
import type { SessionStore } from "./store.ts";
import { type Held, useArmed, useHeld } from "./use_armed.ts";

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
  const asked = pending.map(({ approval_id }) => approval_id).join();
  const held = useHeld();
  useEffect(() => {
    const head = first && (askedOf(first) ? "The model asks" : "Approval needed");
    if (first) announcer.say(`${head}: ${exactLine(first.reason)}`);
    if (!focused.current) return;
    // The button that was pressed is gone: the focus goes on.
    focused.current = false;
    if (first) section.current?.querySelector("button")?.focus();
    else onNone();
  }, [first?.approval_id]);
  if (pending.length === 0) return null;
  return (
    // It scrolls: by keyboard, too.
    <section ref={section} class="approvals" aria-label="Approvals" tabIndex={0}>
      {pending.map((approval) => {
        const Part = askedOf(approval) === undefined ? Approval : Question;
        return (
          <Part
            key={approval.approval_id}
            approval={approval}
            store={store}
            asked={asked}
            held={held}
            onDecide={() => focused.current = true}
          />
        );
      })}
    </section>
  );
}

interface ApprovalProps {
  approval: PendingApproval;
  store: SessionStore;
  /** Names what is asked, in its order. */
  asked: string;
  held: Held;
  onDecide(): void;
}

function Approval({ approval, store, asked, held, onDecide }: ApprovalProps) {
  const { client, announcer } = useApp();
  const drawn = useSignal(false);
  const [begun, begin] = useSeen(true);
  const [ended, end] = useSeen(drawn.value);
  const read = begun && ended;
  const deniable = useArmed(asked, held);
  const allowable = useArmed(read ? asked : undefined, held);
  const { approval_id, reason } = approval;
  const named = { session_id: store.id, approval_id };
  /** What the last button would keep; empty for what `always` means without a choice. */
  const chosen = useSignal("");
  /** Whether the person is writing what to do instead. */
  const says = useSignal(false);
  const message = useSignal("");
  const saying = useRef<HTMLInputElement>(null);
  useEffect(() => saying.current?.focus(), [says.value]);
  const rules = (approval.choices ?? []).flatMap((rule) =>
    RULE_SCOPES.map(({ scope, words }) => ({
      always: { rule, scope },
      text: `${choiceText(approval, rule)}, ${words}`,
    }))
  );
  const decide = async (decision: Decision) => {
    onDecide();
    const shown = await shownDigest(approval);
    const always = decision === "allow_always"
      ? rules[Number(chosen.value || NaN)]?.always
      : undefined;
    const text = decision === "deny" && says.value ? message.value.trim() : "";
    const more = { always, ...(text !== "" && { message: text }) };
    await decided(
      client.call("session.approve", { ...named, decision, shown, ...more }),
      announcer,
    );
  };
  const always = rules[Number(chosen.value || NaN)]?.text ?? alwaysText(approval);
  const hint = read
    ? `Always allow: ${always}`
    : drawn.value
    ? "Scroll to the end to allow it"
    : "Show all of it to allow it";
  return (
    <div class="approval" role="group" aria-label={`Approval: ${exactLine(reason)}`}>
      <span ref={begin} class="approval-mark" />
      <p class="approval-head">
        <Icon name="bell" />
        <strong>Allow this?</strong>
      </p>
      <Boundary instead={() => <Words args={approval.args} onDrawn={() => drawn.value = true} />}>
        <QuestionBody
          question={approval}
          files={() => client.ask("approvals.files", named)}
          onDrawn={() => drawn.value = true}
        />
      </Boundary>
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
        {rules.length > 0 && (
          <select
            aria-label="What to allow always"
            disabled={!allowable}
            value={chosen.value}
            onChange={({ currentTarget }) => chosen.value = currentTarget.value}
          >
            <option value="">{`${alwaysText(approval)}, this session`}</option>
            {rules.map(({ text }, n) => <option key={text} value={String(n)}>{text}</option>)}
          </select>
        )}
        <Button tone="danger" disabled={!deniable} onClick={() => decide("deny")}>Deny</Button>
        <Button
          disabled={!deniable}
          aria-expanded={says.value}
          onClick={() => says.value = !says.value}
        >
          Say what instead…
        </Button>
        {says.value && (
          <form
            class="approval-say"
            onSubmit={(event) => {
              event.preventDefault();
              decide("deny");
            }}
          >
            <input
              aria-label="What to do instead"
              placeholder="What to do instead"
              dir="auto"
              required
              maxLength={10_000}
              value={message}
              ref={saying}
              onInput={({ currentTarget }) => message.value = currentTarget.value}
            />
            <Button type="submit" tone="danger" disabled={!deniable}>Deny and send</Button>
          </form>
        )}
        <span class="approval-rule">{hint}</span>
      </div>
      <span ref={end} class="approval-mark" />
    </div>
  );
}

/** A question of the model itself. */
function Question({ approval, store, asked, held, onDecide }: ApprovalProps) {
  const { client, announcer } = useApp();
  const [begun, begin] = useSeen(true);
  const [ended, end] = useSeen(true);
  const armed = useArmed(begun && ended ? asked : undefined, held);
  const { approval_id } = approval;
  const answer = async (given: PersonAnswer | undefined) => {
    onDecide();
    const shown = await shownDigest(approval);
    const answer = given ?? { unanswered: "declined" as const };
    const named = { session_id: store.id, approval_id };
    await decided(client.call("session.answer", { ...named, ...answer, shown }), announcer);
  };
  return (
    <div>
      <span ref={begin} class="approval-mark" />
      <PersonQuestion asked={askedOf(approval)!} armed={armed} onAnswer={answer} />
      <span ref={end} class="approval-mark" />
    </div>
  );
}

/** Waits for the daemon to take a decision. Somebody else who was faster is nothing that went wrong. */
async function decided(call: Promise<unknown>, announcer: Announcer): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof RpcError) || error.reason !== "already_answered") throw error;
    announcer.say(error.message);
  }
}

/** Whether an element has been in sight. @param from when it counts. */
function useSeen(from: boolean): [boolean, RefObject<HTMLSpanElement>] {
  const mark = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!from || seen || mark.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [from, seen]);
  return [seen, mark];
}
