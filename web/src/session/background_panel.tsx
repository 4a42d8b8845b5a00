/** The commands that run in the background of a session. */
import { useSignal } from "@preact/signals";
import { visible, visibleLine } from "../../../src/base/visible.ts";
import type { BackgroundItem } from "../../../src/session/session_state.ts";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import type { SessionStore } from "./store.ts";

export function BackgroundPanel({ store }: { store: SessionStore }) {
  const { background } = store.state;
  if (background.length === 0) return null;
  return (
    <details class="plan background">
      <summary>In the background · {background.length} running</summary>
      <ul>
        {background.map((item) => <Command key={item.command_id} item={item} store={store} />)}
      </ul>
    </details>
  );
}

/** Bytes of output that are shown. */
const TAIL = 8 * 1024;

function Command({ item, store }: { item: BackgroundItem; store: SessionStore }) {
  const { client } = useApp();
  const output = useSignal<string | undefined>(undefined);
  const { command_id, command } = item;
  const ids = { session_id: store.id, command_id };
  const show = async () => {
    const { commands } = await client.call("background.list", { session_id: store.id });
    const bytes = commands.find((it) => it.command_id === command_id)?.output_bytes ?? 0;
    const { text } = await client.call("background.output", {
      ...ids,
      from: Math.max(bytes - TAIL, 0),
    });
    output.value = text;
  };
  return (
    <li>
      <code>{visibleLine(command)}</code>
      <span class="background-actions">
        <Button onClick={show}>{output.value === undefined ? "Output" : "Refresh"}</Button>
        <Button
          tone="danger"
          onClick={() => client.call("background.stop", ids).then(() => {})}
        >
          Stop
        </Button>
      </span>
      {output.value !== undefined && (
        <pre class="background-output" tabIndex={0} role="log" aria-label={`Output of ${command}`}>
          {visible(output.value) || "Nothing yet"}
        </pre>
      )}
    </li>
  );
}
