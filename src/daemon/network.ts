/** Peers of local connections, and network access of tasks. */
import { Opener } from "../base/lazy.ts";
import type { Egress } from "../net/egress.ts";
import type { Endpoint, TcpPeer } from "../os/tcp_peer.ts";

/** The peer of a missing or unestablished connection. */
const NOBODY: TcpPeer = { uid: -1, inode: "" };

/** Finds the peer of a local connection; undefined where the system cannot tell. */
export type FindPeer = (peer: Endpoint, own: Endpoint) => Promise<TcpPeer | undefined>;

export function peerFinder(): FindPeer {
  const finder = new Opener(async () => (await import("../os/tcp_peer.ts")).tcpPeerFinder());
  return async (peer, own) => {
    const find = await finder.get();
    return find && (find(peer, own) ?? NOBODY);
  };
}

interface EgressParts {
  uid: number;
  findPeer: FindPeer;
  /** Whether hired work may reach loopback, link-local and private addresses. */
  allow_private: boolean;
  ports(): number[];
}

/** Returns a function that opens a task's network access; hired ones are limited. */
export function egressOpener(parts: EgressParts): (hired: boolean) => Promise<Egress> {
  const { uid, findPeer, allow_private, ports } = parts;
  return async (hired) => {
    const { Egress } = await import("../net/egress.ts");
    return new Egress({
      allow_private: !hired || allow_private,
      own_ports: ports,
      async isFrom(peer, own, programs) {
        const found = await findPeer(peer, own);
        if (found === undefined) return true;
        if (found.uid !== uid) return false;
        const { isHeldBy } = await import("../os/tcp_peer.ts");
        return isHeldBy(found.inode, programs);
      },
    });
  };
}
