/** The figures of a session. */
import { contextText } from "../../../src/protocol/compacted_text.ts";
import { costText, count } from "../format.ts";
import { StateChip } from "../sessions/state_chip.tsx";
import { Path } from "../ui/path.tsx";
import type { SessionStore } from "./store.ts";

/** In a line below the title; on a phone, only the state. */
export function Facts({ store }: { store: SessionStore }) {
  const { workdir, turn, ...session } = store.state;
  if (workdir === "") return null;
  return (
    <p class="facts">
      <StateChip {...session} parked_until={turn?.parked?.until} />
      <Path path={workdir} />
      <Figures store={store} />
    </p>
  );
}

/** Cost, tokens, and how full the context is. */
export function Figures({ store }: { store: SessionStore }) {
  const { cost_usd, unpriced, tokens_in, tokens_out, context } = store.state;
  return (
    <>
      <span class="figure" title={`${tokens_in} tokens in, ${tokens_out} out`}>
        {costText({ cost_usd, unpriced })} · {count(tokens_in + tokens_out)} tokens
      </span>
      {context && (
        <span class="figure" title={`${context.used} of ${context.limit} tokens`}>
          {contextText(context)}
        </span>
      )}
    </>
  );
}
