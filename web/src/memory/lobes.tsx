import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Failed, Loading } from "../ui/states.tsx";

type Lobe = Result<"cortex.lobes_list">["lobes"][number];

const STATUS: Record<Lobe["status"], { tone: string; word: string }> = {
  off: { tone: "cancelled", word: "Off" },
  paused: { tone: "paused", word: "Paused" },
  idle: { tone: "idle", word: "Idle" },
  working: { tone: "working", word: "Working" },
};

/** No event tells of a lobe's state; the daemon has it at hand. */
const EVERY_MS = 3_000;

/** What works with the memory for the sessions, and a switch for each. */
export function Lobes() {
  const { client } = useApp();
  const live = useLive<Result<"cortex.lobes_list">>({
    ask: () => client.ask("cortex.lobes_list", {}),
    every_ms: EVERY_MS,
  });
  const { value: found } = live.value;
  return (
    <section class="panel" aria-labelledby="lobes-heading">
      <h2 id="lobes-heading">Lobes</h2>
      {found === undefined && live.error.value !== undefined && (
        <Failed
          message={live.error.value}
          onRetry={() => live.refresh()}
        />
      )}
      {found === undefined && live.error.value === undefined && (
        <Loading label="Loading the lobes" />
      )}
      <ul class="lobes">
        {found?.lobes.map((lobe) => (
          <LobeItem
            key={lobe.lobe}
            {...lobe}
            onChanged={() => live.refresh()}
          />
        ))}
      </ul>
    </section>
  );
}

function LobeItem({ lobe, summary, status, onChanged }: Lobe & { onChanged(): Promise<void> }) {
  const { client, announcer } = useApp();
  const { tone, word } = STATUS[status];
  const paused = status === "paused";
  const change = async () => {
    await client.call(paused ? "cortex.lobe_resume" : "cortex.lobe_pause", { lobe });
    await onChanged();
    announcer.say(`${lobe} ${paused ? "resumed" : "paused"}`);
  };
  return (
    <li class="lobe">
      <div>
        <p class="lobe-name">{lobe}</p>
        <p class="hint">
          {status === "off" ? `${summary} Off in the settings.` : summary}
        </p>
      </div>
      <Chip tone={tone}>{word}</Chip>
      <Button
        icon={paused ? "play" : "pause"}
        label={`${paused ? "Resume" : "Pause"} ${lobe}`}
        disabled={status === "off"}
        onClick={change}
      >
        {paused ? "Resume" : "Pause"}
      </Button>
    </li>
  );
}
