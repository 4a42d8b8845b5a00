import { assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { findPeer, isInOtherNamespace, tcpPeerFinder } from "./tcp_peer.ts";

const TABLE =
  `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0
   1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 22 1 0
   2: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 33 1 0
   3: 0200007F:C002 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 44 1 0
`;

Deno.test("the client's own socket is found, not the server's end of it", () => {
  assertEquals(findPeer(TABLE, 0xc001, 8080), { uid: 1000, inode: "22" });
  assertEquals(findPeer(TABLE, 0xc002, 8080), undefined);
  assertEquals(findPeer(TABLE, 0xc001, 8081), undefined);
});

Deno.test({
  name: "a real connection is found with our own uid and namespace",
  ignore: Deno.build.os !== "linux" || !granted("ffi", "net", "sys", "read"),
  // The C library stays open for as long as the process lives.
  sanitizeResources: false,
  async fn() {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const own_port = (listener.addr as Deno.NetAddr).port;
    using client = await Deno.connect({ hostname: "127.0.0.1", port: own_port });
    using _accepted = await listener.accept();
    const peer = tcpPeerFinder()!((client.localAddr as Deno.NetAddr).port, own_port)!;
    assertEquals(peer.uid, Deno.uid());
    assertEquals(isInOtherNamespace(peer.inode), false);
  },
});
