/**
 * How a page comes back to a daemon that was started again: it sends nothing but random numbers and
 * MACs until the daemon has proven that it is of the same home.
 */
import { importKey, isProven, prove, randomText } from "../../../src/protocol/page_proof.ts";
import type { Result } from "./api.ts";

type Discovery = Result<"daemon.discover">;

/**
 * The daemon's new record. @throws {Error} when nothing answers, or another program, or another
 * home's daemon.
 */
export type WayBack = (signal: AbortSignal) => Promise<Discovery>;

/** Gets this page its key while it is connected. @throws {Error} when it is no longer. */
export async function wayBack(token: string, signal: AbortSignal): Promise<WayBack> {
  const headers = { authorization: `Bearer ${token}` };
  const { page, key: text } = await post("key", {}, headers, signal);
  const key = await importKey(text);
  return async (signal) => {
    const page_nonce = randomText();
    const { nonce, proof } = await post("challenge", { page, nonce: page_nonce }, {}, signal);
    const port = Number(location.port || 80);
    const challenge = { page, page_nonce, daemon_nonce: nonce, port };
    if (!await isProven(key, "daemon", challenge, proof)) {
      throw new Error("another program answers at this address");
    }
    const own = await prove(key, "page", challenge);
    return await post("return", { nonce, proof: own }, {}, signal);
  };
}

async function post(name: string, body: unknown, headers: HeadersInit, signal: AbortSignal) {
  const response = await fetch(`/v1/page/${name}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    redirect: "error",
    signal,
  });
  if (!response.ok) throw new Error(`the daemon answered ${response.status}`);
  return await response.json();
}
