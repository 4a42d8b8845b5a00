/** What the agent does now, for how long, and its tokens. The line's room is always there. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { visibleLine } from "../../../src/base/visible.ts";
import { count, duration } from "../format.ts";
import { doing } from "./doing.ts";
import type { SessionStore } from "./store.ts";

export function WorkingLine({ store, armed }: { store: SessionStore; armed: boolean }) {
  const now = useSignal(Date.now());
  const { turn } = store.state;
  const running = turn !== undefined && turn.parked === undefined;
  useEffect(() => {
    if (!running) return;
    now.value = Date.now();
    const timer = setInterval(() => now.value = Date.now(), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  if (!running) return <p class="working-line" />;
  const elapsed_s = Math.floor(store.workedMs(now.value) / 1_000);
  const tokens = turn.usage.tokens_in + turn.usage.tokens_out;
  return (
    <p class="working-line">
      <span class="dot working" aria-hidden="true" />
      <span class="working-what clip">{visibleLine(doing(store.conversation.items))}</span>
      <span>
        {elapsed_s > 0 && duration(elapsed_s * 1_000)}
        {tokens > 0 && ` · ${count(tokens)} tokens`}
      </span>
      <span class="working-stop">
        {armed ? "Esc again stops" : (
          <>
            <kbd>Esc</kbd> <kbd>Esc</kbd> stops
          </>
        )}
      </span>
    </p>
  );
}
