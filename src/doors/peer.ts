/**
 * The credentials of who connects to the local socket. Every accepted connection of the process is
 * looked at instead of a given one: those of another user, and of programs in a sandbox or container,
 * are shut down, whichever they are, and what they sent is discarded. It runs after an accept and
 * before anything is read, so no byte of theirs is ever acted on.
 */
import { isInOwnNamespace } from "../os/process.ts";
import { type Peer, unixSockets } from "../os/unix_peer.ts";

/**
 * Makes the check for the connections accepted at `path`.
 *
 * @param uid the only user who may connect.
 * @param onForeign told of each connection that was shut down.
 * @returns undefined where the system does not tell; the socket's mode then protects it alone.
 */
export function foreignPeerCheck(
  path: string,
  uid: number,
  onForeign: (peer: Peer) => void,
): (() => void) | undefined {
  const sockets = unixSockets();
  if (sockets === undefined) return undefined;
  // Those that were let in before: what connected may have ended since, and left them to another.
  let known = new Set<string>();
  return () => {
    const seen = new Set<string>();
    for (const { fd, inode, peer: peerOf } of sockets.at(path, "own")) {
      const peer = inode !== undefined && known.has(inode) ? undefined : peerOf();
      const foreign = peer !== undefined &&
        (peer.uid !== uid || (peer.pid !== undefined && !isInOwnNamespace(peer.pid)));
      if (foreign) {
        sockets.cutOff(fd);
        onForeign(peer);
      } else if (inode !== undefined) seen.add(inode);
    }
    known = seen;
  };
}
