/**
 * Checks peers on the local socket. It cannot check a given connection, so it checks all accepted
 * connections of the process. Those of other users, or from a sandbox or container, are shut down
 * and their data discarded. It runs after each accept, before anything is read.
 */
import { isInOwnNamespace } from "../os/process.ts";
import { type Peer, unixSockets } from "../os/unix_peer.ts";

/**
 * Returns the check for connections accepted at `path`.
 *
 * @param uid the only accepted user
 * @param onForeign called with each connection that was shut down
 * @returns undefined when the system reports no credentials; then the socket's mode protects it
 */
export function foreignPeerCheck(
  path: string,
  uid: number,
  onForeign: (peer: Peer) => void,
): (() => void) | undefined {
  const sockets = unixSockets();
  if (sockets === undefined) return undefined;
  // Checked peers: their process may have ended and passed the connection on.
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
