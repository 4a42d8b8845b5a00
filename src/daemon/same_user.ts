import { type Endpoint, isOfOwnNamespace } from "../os/tcp_peer.ts";
import type { FindPeer } from "./network.ts";

/** Whether a peer is this user, and not a sandbox or container that shares our network and uid. */
export async function isSameUser(
  { findPeer, uid }: { findPeer: FindPeer; uid: number },
  peer: Endpoint,
  port: number,
): Promise<boolean> {
  const hostname = peer.hostname.includes(":") ? "::1" : "127.0.0.1";
  const found = await findPeer(peer, { hostname, port });
  if (found === undefined) return true;
  return found.uid === uid && isOfOwnNamespace(found.inode);
}
