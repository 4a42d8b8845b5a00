import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { dirname } from "@std/path";
import { everyonesTemp } from "../support/everyone.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { BINARY, PING, PONG, rawHttp, RawWebSocket, TEXT } from "../support/raw.ts";

const ignore = !can_run_svc;
const posix = Deno.build.os !== "windows";
const CHALLENGE = 'Bearer realm="svc"';

Deno.test({
  name: "every start has a token of its own, and nothing else opens the listener",
  ignore,
  async fn() {
    await using place = new Place();
    const first = await place.serve();
    assert(/^[0-9a-f]{64}$/.test(first.token), "256 bits");
    const stale = first.token;
    await first.stop();
    const daemon = await place.serve();
    assertNotEquals(daemon.token, stale);
    const wrong = daemon.token.slice(0, -1) + (daemon.token.endsWith("0") ? "1" : "0");
    const credentials = [
      undefined,
      "Bearer",
      "Bearer ",
      `Bearer ${stale}`,
      `Bearer ${wrong}`,
      `Bearer ${daemon.token}0`,
      `Bearer ${daemon.token.slice(1)}`,
      `Basic ${daemon.token}`,
      daemon.token,
    ];
    const paths = ["GET /v1/sessions", "POST /v1/rpc", "GET /v1/sessions/x/events"];
    for (const authorization of credentials) {
      for (const [method, path] of paths.map((it) => it.split(" "))) {
        const { status, headers, body } = await rawHttp(daemon.port, method, path, {
          authorization,
          "content-type": "application/json",
        }, method === "POST" ? '{"jsonrpc":"2.0","id":1,"method":"daemon.shutdown"}' : "");
        assertEquals([status, headers.get("www-authenticate")], [401, CHALLENGE], `${path}`);
        assertEquals(JSON.parse(body).error.code, "unauthenticated");
        assert(!body.includes(daemon.token));
      }
    }
    // No credential is taken from a query string.
    for (const name of ["token", "access_token", "bearer"]) {
      const path = `/v1/sessions?${name}=${daemon.token}`;
      assertEquals((await rawHttp(daemon.port, "GET", path)).status, 401);
    }
    const authorization = `bearer ${daemon.token}`;
    const accepted = await rawHttp(daemon.port, "GET", "/v1/sessions", { authorization });
    assertEquals([accepted.status, JSON.parse(accepted.body)], [200, { sessions: [] }]);
    const health = await rawHttp(daemon.port, "GET", "/v1/health");
    assertEquals([health.status, JSON.parse(health.body).status], [200, "ok"]);
    const discover = await rawHttp(daemon.port, "GET", "/v1/discover");
    const { version: _, ...record } = JSON.parse(discover.body);
    const { pid, sock, port, token } = daemon;
    assertEquals(record, { pid, sock, port, token, protocol_version: 1 });
    assertEquals(JSON.parse(discover.body), place.discovery());
  },
});

Deno.test({
  name: "only the listener's own names pass as Host",
  ignore,
  async fn() {
    await using place = new Place();
    const { port, token } = await place.serve();
    const authorization = `Bearer ${token}`;
    const evil = [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      `127.0.0.1:${port + 1}`,
      `127.0.0.1:${port}.evil.example`,
      `localhost.evil.example:${port}`,
      `[::1]:${port}`,
      `0.0.0.0:${port}`,
      "",
    ];
    for (const host of evil) {
      for (const path of ["/v1/health", "/v1/discover", "/v1/sessions", "/nothing"]) {
        const { status, body } = await rawHttp(port, "GET", path, { host, authorization });
        assertEquals(status, 403, `${host} ${path}`);
        assert(!body.includes(token));
      }
      const { status } = await RawWebSocket.open(port, {
        protocols: `svc.bearer, ${token}, svc.proto.v1`,
        headers: { host },
      });
      assertEquals(status, 403, host);
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      assertEquals(
        (await rawHttp(port, "GET", "/v1/sessions", { host, authorization })).status,
        200,
      );
    }
  },
});

Deno.test({
  name: "only allowed origins pass, on every method and on the upgrade",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure('[http]\nallowed_origins = ["http://localhost:5173"]\n');
    const { port, token } = await place.serve();
    const authorization = `Bearer ${token}`;
    const protocols = `svc.bearer, ${token}, svc.proto.v1`;
    const evil = [
      "http://evil.example",
      "http://localhost",
      `https://localhost:${port}`,
      `http://127.0.0.1:${port + 1}`,
      `http://127.0.0.1:${port}.evil.example`,
      "http://localhost:5174",
      "tauri://evil",
      "file://",
    ];
    for (const origin of evil) {
      for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
        for (const path of ["/v1/sessions", "/v1/health", "/v1/discover", "/nothing"]) {
          const { status, headers, body } = await rawHttp(port, method, path, {
            origin,
            authorization,
          });
          assertEquals(status, 403, `${origin} ${method} ${path}`);
          assertEquals(headers.get("access-control-allow-origin"), null);
          assert(!body.includes(token));
        }
      }
      for (const path of ["/", "/v1/ws"]) {
        const upgrade = await RawWebSocket.open(port, { path, protocols, headers: { origin } });
        assertEquals(upgrade.status, 403, `${origin} ${path}`);
      }
    }
    const good = [
      undefined,
      "null",
      "tauri://localhost",
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      "http://localhost:5173",
    ];
    for (const origin of good) {
      const headers = { origin, authorization };
      assertEquals((await rawHttp(port, "GET", "/v1/sessions", headers)).status, 200, origin);
      const upgrade = await RawWebSocket.open(port, { protocols, headers: { origin } });
      assertEquals(upgrade.status, 101, origin);
      upgrade.socket![Symbol.dispose]();
    }
  },
});

Deno.test({
  name: "a WebSocket needs svc.bearer with the token, speaks svc.proto.v1, text only",
  ignore,
  async fn() {
    await using place = new Place();
    const { port, token } = await place.serve();
    const wrong = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
    const open = (protocols?: string, path?: string) =>
      RawWebSocket.open(port, { protocols, path });
    const refused = [
      undefined,
      "svc.proto.v1",
      `${token}, svc.proto.v1`,
      "svc.bearer",
      "svc.bearer, svc.proto.v1",
      `svc.bearer, ${wrong}, svc.proto.v1`,
      `svc.proto.v1, ${token}, svc.bearer`,
    ];
    for (const protocols of refused) {
      const { status, headers } = await open(protocols);
      assertEquals([status, headers.get("www-authenticate")], [401, CHALLENGE], protocols);
    }
    for (const path of ["/", "/v1/ws"]) {
      for (const offer of [`svc.bearer, ${token}, svc.proto.v1`, `svc.bearer,${token}`]) {
        const { status, headers, socket } = await open(offer, path);
        using it = socket!;
        const selected = offer.includes("proto") ? "svc.proto.v1" : "svc.bearer";
        assertEquals([status, headers.get("sec-websocket-protocol")], [101, selected]);
        await it.send(TEXT, '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}');
        assertEquals((await it.json()).result.status, "ok");
        await it.send(PING, "hello");
        const pong = await it.receive();
        assertEquals([pong?.opcode, new TextDecoder().decode(pong?.payload)], [PONG, "hello"]);
      }
    }
    const several = await open(`svc.bearer, ${token}, svc.proto.v2, svc.proto.v1`);
    assertEquals(several.headers.get("sec-websocket-protocol"), "svc.proto.v1");
    several.socket![Symbol.dispose]();

    const newer = await open(`svc.bearer, ${token}, svc.proto.v2`);
    using newer_socket = newer.socket!;
    assertEquals(newer.status, 101);
    assertEquals(await newer_socket.closed(), { code: 1002, reason: "migration_hint" });
    // A wrong token outranks the version.
    assertEquals((await open(`svc.bearer, ${wrong}, svc.proto.v2`)).status, 401);

    const binary = await open(`svc.bearer, ${token}, svc.proto.v1`);
    using binary_socket = binary.socket!;
    await binary_socket.send(BINARY, '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}');
    assertEquals((await binary_socket.closed())?.code, 1003);
  },
});

/** A client that runs as another user, writes at once and prints all that it is answered. */
const FOREIGN = `
import socket, sys
s = socket.socket(socket.AF_UNIX) if sys.argv[1] == "unix" else socket.socket()
s.settimeout(10)
s.connect(sys.argv[2] if sys.argv[1] == "unix" else ("127.0.0.1", int(sys.argv[2])))
print("connected", flush=True)
answer = b""
try:
    s.sendall(sys.argv[3].encode())
    while True:
        data = s.recv(65536)
        if not data: break
        answer += data
        if sys.argv[1] == "tcp": break
except OSError as error:
    if isinstance(error, socket.timeout): answer += b"(left connected)"
print(answer.decode())
`;

function asNobody(kind: "unix" | "tcp", address: string, request: string) {
  const as = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  return new Deno.Command("setpriv", {
    args: [...as, "/usr/bin/python3", "-c", FOREIGN, kind, address, request],
    cwd: "/",
    stdout: "piped",
    stderr: "piped",
  });
}

function canBeNobody(): boolean {
  if (!can_run_svc || !posix || Deno.uid() !== 0) return false;
  try {
    const args = ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-V"];
    return new Deno.Command("setpriv", { args, stdout: "null", stderr: "null" }).outputSync()
      .success;
  } catch {
    return false;
  }
}

Deno.test({
  name: "another user is cut off at the socket, unanswered and unheard",
  ignore: ignore || !canBeNobody(),
  async fn() {
    await using place = new Place({}, { parent: everyonesTemp() });
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    await using own = await daemon.rpc();
    Deno.chmodSync(daemon.sock, 0o666);
    for (let dir = dirname(daemon.sock); dir !== dirname(place.dir); dir = dirname(dir)) {
      Deno.chmodSync(dir, 0o755);
    }
    const call = { jsonrpc: "2.0", id: 1, method: "session.start", params: { workdir } };
    const line = `${JSON.stringify(call)}\n`;
    for (const stopped of [false, true]) {
      // Stopped meanwhile, the daemon finds connection and request at the same time.
      if (stopped) Deno.kill(daemon.pid, "SIGSTOP");
      const child = asNobody("unix", daemon.sock, line).spawn();
      if (stopped) {
        await new Promise((resolve) => setTimeout(resolve, 700));
        Deno.kill(daemon.pid, "SIGCONT");
      }
      const { stdout, stderr } = await child.output();
      assertEquals(new TextDecoder().decode(stderr), "");
      assertEquals(new TextDecoder().decode(stdout), "connected\n\n");
      assertEquals(await own.rpc.call("session.list"), { sessions: [] }, `stopped: ${stopped}`);
    }
    await using again = await daemon.rpc();
    assertEquals((await again.rpc.call("daemon.health")).status, "ok");
  },
});

Deno.test({
  name: "another user is not handed the token",
  ignore: ignore || !canBeNobody() || Deno.build.os !== "linux",
  async fn() {
    await using place = new Place();
    const { port, token } = await place.serve();
    const request = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
    const said = async (path: string) => {
      const { stdout } = await asNobody("tcp", String(port), request(path)).output();
      return new TextDecoder().decode(stdout);
    };
    assertStringIncludes(await said("/v1/health"), "HTTP/1.1 200");
    const answer = await said("/v1/discover");
    assert(!answer.includes(token));
    assertStringIncludes(answer, "HTTP/1.1 403");
    assertEquals((await rawHttp(port, "GET", "/v1/discover")).status, 200);
  },
});
