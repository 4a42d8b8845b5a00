/** How the page is connected, in the words and colours of product.md. */
import { useApp } from "./app.ts";
import { Button } from "./ui/button.tsx";

export function ConnectionBanner() {
  const app = useApp();
  const { client, daemon } = app;
  const bundled = daemon.bundled.value;
  const state = bundled === undefined && client.state.value === "connected"
    ? "connecting"
    : client.state.value;
  const [colour, text] = {
    connecting: ["yellow", "Connecting…"],
    connected: bundled ? ["blue", "Bundled daemon"] : ["green", "Connected (external)"],
    silent: ["yellow", "Not responding…"],
    reconnecting: ["yellow", "Reconnecting…"],
    offline: ["red", "Offline"],
  }[state];
  return (
    <div class="connection">
      <p class={`banner ${colour}`} role="status">{text}</p>
      {state === "connected" && daemon.updated.value && (
        <>
          <p class="way-back">svc was updated. This page is still of the version before.</p>
          <Button tone="quiet" onClick={() => app.reload()}>Reload</Button>
        </>
      )}
      {state === "offline" && (
        <>
          <p class="way-back">
            If the daemon was started at another address, run <code>svc open</code>.
          </p>
          <Button tone="quiet" onClick={() => client.retry()}>Retry</Button>
        </>
      )}
    </div>
  );
}
