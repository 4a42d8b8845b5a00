/** How the page is connected, in the words and colours of product.md. */
import { useApp } from "./app.ts";
import { Button } from "./ui/button.tsx";

const BUNDLED_KEY = "svc.daemon";

/**
 * Whether a desktop shell started the daemon for itself: it opens `/?daemon=bundled`. Kept for the
 * window, which loses its query when it goes to another view.
 */
function isBundled(): boolean {
  try {
    const said = new URLSearchParams(location.search).get("daemon");
    if (said !== null) sessionStorage.setItem(BUNDLED_KEY, said);
    return sessionStorage.getItem(BUNDLED_KEY) === "bundled";
  } catch {
    return false;
  }
}

export function ConnectionBanner() {
  const { client } = useApp();
  const state = client.state.value;
  const [colour, text] = {
    connecting: ["yellow", "Connecting…"],
    connected: isBundled() ? ["blue", "Bundled daemon"] : ["green", "Connected (external)"],
    reconnecting: ["yellow", "Reconnecting…"],
    offline: ["red", "Offline"],
  }[state];
  return (
    <div class="connection">
      <p class={`banner ${colour}`} role="status">{text}</p>
      {state === "offline" && <Button tone="quiet" onClick={() => client.retry()}>Retry</Button>}
    </div>
  );
}
