/** Finds the daemon that this page came from. */
import type { Endpoint } from "./client.ts";
import type { Result } from "./api.ts";

/**
 * Reads the discovery record on the page's own origin.
 *
 * @throws {Error} when nothing answers, or not with a record.
 */
export async function discoverOwnOrigin(signal: AbortSignal): Promise<Endpoint> {
  const response = await fetch("/v1/discover", { signal });
  if (!response.ok) throw new Error(`the daemon answered ${response.status}`);
  const { token, port }: Result<"daemon.discover"> = await response.json();
  return { token, url: `ws://127.0.0.1:${port}/v1/ws` };
}
