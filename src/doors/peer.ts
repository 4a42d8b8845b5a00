/**
 * Checks the credentials of peers on the local socket. It cannot check one given connection, so it
 * checks every accepted connection of the process: connections of another user, and of programs in
 * a sandbox or container, are shut down and their data is discarded. It runs after each accept and
 * before anything is read, so svc never acts on a byte of theirs.
 */
import { isInOwnNamespace } from "../os/process.ts";
import { type Peer, unixSockets } from "../os/unix_peer.ts";

/**
 * Returns the check for the connections accepted at `path`.
 *
 * @param uid the only user who may connect
 * @param onForeign called with each connection that was shut down
 * @returns undefined when the system does not report credentials; then only the socket's mode
 * protects it
 */
export function foreignPeerCheck(
  path: string,
  uid: number,
  onForeign: (peer: Peer) => void,
): (() => void) | undefined {
  const sockets = unixSockets();
  if (sockets === undefined) return undefined;
  // Peers that were accepted before: their process may have ended since and left the connection to
  // another.
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
