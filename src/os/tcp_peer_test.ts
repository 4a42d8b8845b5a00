import { assert, assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import {
  type Endpoint,
  findSocket,
  isHeldBy,
  isOfOwnNamespace,
  tcpPeerFinder,
} from "./tcp_peer.ts";

const TABLE =
  `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0
   1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 22 1 0
   2: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 33 1 0
   3: 0200007F:C002 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 44 1 0
   4: 0100007F:C002 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
`;
const TABLE6 = `  sl  local_address                         remote_address
   0: 00000000000000000000000001000000:C001 00000000000000000000000001000000:1F90 01 0:0 0:0 0 7 0 55 1
   1: 0000000000000000FFFF00000100007F:C003 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0 8 0 66 1
`;

function at(hostname: string, port: number): Endpoint {
  return { hostname, port };
}

Deno.test("the client's own socket is found, not the server's end of it", () => {
  const own = at("127.0.0.1", 8080);
  assertEquals(findSocket(TABLE, at("127.0.0.1", 0xc001), own), { uid: 1000, inode: "22" });
  assertEquals(findSocket(TABLE, at("127.0.0.1", 0xc001), at("127.0.0.1", 8081)), undefined);
  assertEquals(findSocket(TABLE6, at("::1", 0xc001), at("::1", 8080)), { uid: 7, inode: "55" });
  assertEquals(findSocket(TABLE6, at("127.0.0.1", 0xc003), own), { uid: 8, inode: "66" });
});

Deno.test("the same port at another address, or in another state, is not the client", () => {
  const own = at("127.0.0.1", 8080);
  assertEquals(findSocket(TABLE, at("127.0.0.2", 0xc001), own), undefined);
  assertEquals(findSocket(TABLE, at("127.0.0.2", 0xc002), own), { uid: 1001, inode: "44" });
  // In TIME_WAIT a socket is listed as root's.
  assertEquals(findSocket(TABLE, at("127.0.0.1", 0xc002), own), undefined);
});

for (const hostname of ["127.0.0.1", "::1"]) {
  Deno.test({
    name: `a real connection at ${hostname} is found with our own uid and namespace`,
    ignore: Deno.build.os !== "linux" || !granted("ffi", "net", "sys", "read") || !has(hostname),
    // The C library stays open for as long as the process lives.
    sanitizeResources: false,
    async fn() {
      using listener = Deno.listen({ hostname, port: 0 });
      const own = listener.addr as Deno.NetAddr;
      const client = await Deno.connect({ hostname, port: own.port });
      using accepted = await listener.accept();
      const here = client.localAddr as Deno.NetAddr;
      const find = tcpPeerFinder()!;
      const peer = find(here, own)!;
      assertEquals(peer.uid, Deno.uid());
      assert(isOfOwnNamespace(peer.inode));
      assert(!isOfOwnNamespace("0"));
      const other = hostname === "::1" ? "::2" : "127.0.0.2";
      assertEquals(find({ ...here, hostname: other }, own), undefined);
      assertEquals(find(here, { ...own, port: here.port }), undefined);
      // Our own listener would answer for this tuple, if the state were not looked at.
      assertEquals(find({ ...own }, { ...here, port: 1 }), undefined);
      client.close();
      while (await accepted.read(new Uint8Array(1)) !== null);
      assertEquals(find(here, own), undefined);
    },
  });
}

Deno.test({
  name: "a socket is held by its program, by what that started, and by nobody else",
  ignore: Deno.build.os !== "linux" || !granted("ffi", "net", "sys", "read", "run") || !hasBash(),
  sanitizeResources: false,
  async fn() {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const own = listener.addr as Deno.NetAddr;
    const line = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${own.port}; read -r -u 3' & wait`;
    const [program, other] = [["-c", line], ["-c", "read -r"]].map((args) =>
      new Deno.Command("bash", { args, stdin: "piped", detached: true }).spawn()
    );
    using accepted = await listener.accept() as Deno.TcpConn;
    const { inode } = tcpPeerFinder()!(accepted.remoteAddr as Deno.NetAddr, own)!;
    assert(isHeldBy(inode, [other.pid, program.pid]));
    assert(!isHeldBy(inode, [other.pid]));
    assert(!isHeldBy(inode, []));
    for (const child of [program, other]) {
      Deno.kill(-child.pid, "SIGKILL");
      await child.stdin.abort();
      await child.status;
    }
    assert(!isHeldBy(inode, [program.pid]));
  },
});

function hasBash(): boolean {
  return ["/bin/bash", "/usr/bin/bash"].some((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

function has(hostname: string): boolean {
  if (!granted("net")) return false;
  try {
    Deno.listen({ hostname, port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}
