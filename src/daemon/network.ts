/** How a daemon sees the connections of this machine, and how its work gets out. */
import { Opener } from "../base/lazy.ts";
import type { Egress } from "../net/egress.ts";
import type { Endpoint, TcpPeer } from "../os/tcp_peer.ts";

/** Whose a connection is that is not there, or not established. */
const NOBODY: TcpPeer = { uid: -1, inode: "" };

/**
 * Finds who is at the other end of a connection of this machine; undefined where the system cannot
 * tell. One that is not there belongs to nobody.
 */
export type FindPeer = (peer: Endpoint, own: Endpoint) => Promise<TcpPeer | undefined>;

/** Makes what finds peers. */
export function peerFinder(): FindPeer {
  const finder = new Opener(async () => (await import("../os/tcp_peer.ts")).tcpPeerFinder());
  return async (peer, own) => {
    const find = await finder.get();
    return find && (find(peer, own) ?? NOBODY);
  };
}

export interface EgressParts {
  uid: number;
  findPeer: FindPeer;
  /** Whether hired work may reach loopback, link-local and private addresses. */
  allow_private: boolean;
  /** The ports on which this process listens. */
  ports(): number[];
}

/** Makes what opens the way out of one task; hired ones may not go everywhere. */
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
