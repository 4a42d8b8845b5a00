import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exactLine } from "../../../src/base/visible.ts";
import { askedOf, type PersonAnswer } from "../../../src/protocol/person_question.ts";
import { alwaysText, choiceText, RULE_SCOPES, shownDigest } from "../../../src/session/question.ts";
import { useApp } from "../app.ts";
import type { PendingApproval } from "../../../src/session/session_state.ts";
import { type Params, RpcError } from "../rpc/api.ts";
import { Boundary } from "../ui/boundary.tsx";
import { Button } from "../ui/button.tsx";
import { Actions, AskedList, AskedText, Head, Key } from "./approval_parts.tsx";
import { aboutQuestion } from "./asked_about.ts";
import { PersonQuestion } from "./person_question.tsx";
import { QuestionBody, Words } from "./question.tsx";
import type { SessionStore } from "./store.ts";
import { type Held, useArmed, useHeld } from "./use_armed.ts";
import { useKeys } from "./use_keys.ts";
import { useId } from "../ui/use_id.ts";

type Approve = Params<"session.approve">;
type Decision = Approve["decision"];

interface ApprovalsProps {
  store: SessionStore;
  /** Told what became of an answer that came too late. */
  late: Signal<string>;
  /** Takes the focus when the last one is decided. */
  onNone(): void;
}

/** What the session waits for a person to decide: a list where it is more than one, one of it open. */
export function Approvals({ store, late, onNone }: ApprovalsProps) {
  const { announcer } = useApp();
  const pending = store.state.pending_approvals;
  const focused = useRef(false);
  const section = useRef<HTMLElement>(null);
  /** The one that the person opened; by default the first is open. */
  const chosen = useSignal("");
  const at = Math.max(0, pending.findIndex((it) => it.approval_id === chosen.value));
  const open = pending[at];
  const asked = [open, ...pending].map((it) => it?.approval_id).join();
  const held = useHeld();
  useEffect(() => {
    const head = open && (askedOf(open) ? "The model asks" : "Approval needed");
    if (open) announcer.say(`${head}: ${exactLine(open.reason)}`);
    if (!focused.current) return;
    // The button that was pressed is gone: the focus goes on.
    focused.current = false;
    if (open) {
      section.current?.querySelector<HTMLElement>(".approval:not([hidden]) .approval-text")
        ?.focus();
    } else onNone();
  }, [open?.approval_id]);
  /** Waits for the daemon to take an answer. Somebody who was faster is nothing that went wrong. */
  const answer = async (call: () => Promise<unknown>) => {
    focused.current = true;
    late.value = "";
    try {
      await call();
    } catch (error) {
      if (!(error instanceof RpcError) || error.reason !== "already_answered") throw error;
      late.value = error.message;
      announcer.say(error.message);
    }
  };
  if (open === undefined) return null;
  return (
    <section ref={section} class="approvals" aria-label="Approvals">
      {pending.length > 1 && (
        <AskedList
          label="Pending questions"
          items={pending.map((it, n) => ({
            id: it.approval_id,
            number: n + 1,
            text: exactLine(askedOf(it)?.question ?? it.reason),
          }))}
          open={open.approval_id}
          onOpen={(id) => chosen.value = id}
        />
      )}
      {pending.map((approval, n) => {
        const Part = askedOf(approval) === undefined ? Approval : Question;
        return (
          <Part
            key={approval.approval_id}
            approval={approval}
            store={store}
            asked={n === at ? asked : undefined}
            count={pending.length > 1 ? `${n + 1} of ${pending.length}` : undefined}
            held={held}
            onAnswer={answer}
          />
        );
      })}
    </section>
  );
}

interface ApprovalProps {
  approval: PendingApproval;
  store: SessionStore;
  /** Names what is asked, this one first; undefined while another one is open. */
  asked: string | undefined;
  /** Which one of how many. */
  count: string | undefined;
  held: Held;
  onAnswer(call: () => Promise<unknown>): Promise<void>;
}

/** What gets the focus of a form: the choice that is made, or the field. */
const FIRST = "input:checked, input:not([type])";

function Approval({ approval, store, asked, count, held, onAnswer }: ApprovalProps) {
  const app = useApp();
  const { client } = app;
  const drawn = useSignal(false);
  const [begun, begin] = useSeen(true);
  const [ended, end] = useSeen(drawn.value);
  const read = begun && ended;
  const deniable = useArmed(asked, held);
  const allowable = useArmed(read ? asked : undefined, held);
  const { approval_id, reason } = approval;
  const named = { session_id: store.id, approval_id };
  /** What the person is about to say more: which rule to keep, or what to do instead. */
  const more = useSignal<"rule" | "words" | undefined>(undefined);
  const turn = (to: "rule" | "words") => more.value = more.value === to ? undefined : to;
  /** The rule that would be kept; the first is what `always` means without a choice. */
  const chosen = useSignal(0);
  const message = useSignal("");
  const radios = useId();
  const form = useRef<HTMLFormElement>(null);
  const busy = useRef(false);
  useEffect(() => form.current?.querySelector<HTMLElement>(FIRST)?.focus(), [more.value]);
  const group = useKeys(asked !== undefined);
  const first = { always: undefined, text: `${alwaysText(approval)}, this session` };
  const others = (approval.choices ?? []).flatMap((rule) =>
    RULE_SCOPES.map(({ scope, words }) => ({
      always: { rule, scope },
      text: `${choiceText(approval, rule)}, ${words}`,
    }))
  );
  const rules = [first, ...others.filter(({ text }) => text !== first.text)];
  const decide = async (decision: Decision, said: Pick<Approve, "always" | "message"> = {}) => {
    if (busy.current) return;
    busy.current = true;
    try {
      await onAnswer(async () => {
        const shown = await shownDigest(approval);
        return client.call("session.approve", { ...named, decision, shown, ...said });
      });
    } finally {
      busy.current = false;
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (more.value === "rule" && allowable) {
      app.attempt(() => decide("allow_always", { always: rules[chosen.value].always }));
    } else if (more.value === "words" && deniable) {
      const text = message.value.trim();
      app.attempt(() => decide("deny", text === "" ? {} : { message: text }));
    }
  };
  const { head, risk } = aboutQuestion(approval);
  const hint = read
    ? `Always allow: ${alwaysText(approval)}`
    : drawn.value
    ? "Scroll to the end to allow it"
    : "Show all of it to allow it";
  return (
    <div
      ref={group}
      class="approval"
      role="group"
      aria-label={`Approval: ${exactLine(reason)}`}
      hidden={asked === undefined}
    >
      <Head text={head} count={count} />
      <AskedText begin={begin} end={end}>
        <Boundary instead={() => <Words args={approval.args} onDrawn={() => drawn.value = true} />}>
          <QuestionBody
            question={approval}
            risk={risk}
            workdir={store.state.workdir}
            diff={store.asked_diff}
            files={() => client.ask("approvals.files", named)}
            onDrawn={() => drawn.value = true}
          />
        </Boundary>
      </AskedText>
      {more.value === "rule" && (
        <form ref={form} class="approval-more" onSubmit={submit}>
          <fieldset>
            <legend>Allow always</legend>
            {rules.map(({ text }, n) => (
              <label key={text}>
                <input
                  type="radio"
                  name={radios}
                  checked={chosen.value === n}
                  onChange={() => chosen.value = n}
                />
                <span>{text}</span>
              </label>
            ))}
          </fieldset>
          <Button type="submit" tone="primary" disabled={!allowable}>Allow always</Button>
        </form>
      )}
      {more.value === "words" && (
        <form ref={form} class="approval-more" onSubmit={submit}>
          <input
            aria-label="What to do instead"
            placeholder="What to do instead"
            dir="auto"
            required
            maxLength={10_000}
            value={message}
            onInput={({ currentTarget }) => message.value = currentTarget.value}
          />
          <Button type="submit" tone="danger" disabled={!deniable}>Deny and send</Button>
        </form>
      )}
      <Actions hint={hint}>
        <Button
          tone="primary"
          icon="check"
          aria-keyshortcuts="y"
          disabled={!allowable}
          onClick={() => decide("allow")}
        >
          Allow <Key name="y" />
        </Button>
        <Button
          aria-keyshortcuts="a"
          aria-expanded={more.value === "rule"}
          disabled={!allowable}
          onClick={() => turn("rule")}
        >
          Always… <Key name="a" />
        </Button>
        <Button
          tone="danger"
          aria-keyshortcuts="n"
          disabled={!deniable}
          onClick={() => decide("deny")}
        >
          Deny <Key name="n" />
        </Button>
        <Button
          aria-keyshortcuts="i"
          aria-expanded={more.value === "words"}
          disabled={!deniable}
          onClick={() => turn("words")}
        >
          Say what instead… <Key name="i" />
        </Button>
      </Actions>
    </div>
  );
}

/** A question of the model itself. */
function Question({ approval, store, asked, count, held, onAnswer }: ApprovalProps) {
  const { client } = useApp();
  const [begun, begin] = useSeen(true);
  const [ended, end] = useSeen(true);
  const read = begun && ended;
  const armed = useArmed(read ? asked : undefined, held);
  const group = useKeys(asked !== undefined);
  const { approval_id } = approval;
  const answer = (given: PersonAnswer | undefined) =>
    onAnswer(async () => {
      const shown = await shownDigest(approval);
      const answer = given ?? { unanswered: "declined" as const };
      const named = { session_id: store.id, approval_id };
      return client.call("session.answer", { ...named, ...answer, shown });
    });
  return (
    <div
      ref={group}
      class="approval person"
      role="group"
      aria-label={`Question: ${exactLine(askedOf(approval)!.question)}`}
      hidden={asked === undefined}
    >
      <Head text="The model asks" count={count} />
      <PersonQuestion
        asked={askedOf(approval)!}
        armed={armed}
        read={read}
        begin={begin}
        end={end}
        onAnswer={answer}
      />
    </div>
  );
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
