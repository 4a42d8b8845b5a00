import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { BINARY, CLOSE, PING, type RawHeaders, RawWebSocket, TEXT } from "../support/raw.ts";
import { Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();
const MIB = 1024 * 1024;

function section2(name: string, fn: () => void | Promise<void>) {
  row("contract", "2 WebSocket", name, fn);
}

const EVIL = "http://evil.example";

/** The status of an upgrade. */
async function upgrade(protocols: string | undefined, headers: RawHeaders = {}, path?: string) {
  const { status, socket, headers: answered } = await RawWebSocket.open(it.port, {
    protocols,
    headers,
    path,
  });
  socket?.[Symbol.dispose]();
  return { status, protocol: answered.get("sec-websocket-protocol"), headers: answered };
}

async function open(protocols = `svc.bearer, ${it.token}, svc.proto.v1`): Promise<RawWebSocket> {
  const { status, socket } = await RawWebSocket.open(it.port, { protocols });
  assertEquals(status, 101);
  return socket!;
}

const ask = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.health" });

for (const path of ["/", "/v1/ws"]) {
  section2(`an upgrade at ${path}`, async () => {
    const protocols = `svc.bearer, ${it.token}`;
    const { status, socket } = await RawWebSocket.open(it.port, { protocols, path });
    assertEquals(status, 101);
    using ws = socket!;
    await ws.send(TEXT, ask);
    assertEquals((await ws.json()).result.status, "ok");
  });
}

section2("no credential from a query string", async () => {
  assertEquals((await upgrade("svc.bearer", {}, `/v1/ws?token=${it.token}`)).status, 401);
  assertEquals((await upgrade(undefined, {}, `/v1/ws?token=${it.token}`)).status, 401);
});

section2("order of answers: bad Host 403, before Origin and token", async () => {
  for (const host of ["evil.example", `evil.example:${it.port}`, "127.0.0.1", "127.0.0.1:1"]) {
    for (const origin of [undefined, EVIL]) {
      for (const protocols of [undefined, "svc.bearer, wrong", `svc.bearer, ${it.token}`]) {
        assertEquals((await upgrade(protocols, { host, origin })).status, 403, host);
      }
    }
  }
});

section2("order of answers: disallowed Origin 403, before the token", async () => {
  for (const protocols of [undefined, "svc.bearer, wrong", `svc.bearer, ${it.token}`]) {
    for (
      const origin of [EVIL, "http://127.0.0.1:1", "http://localhost", "https://tauri.localhost"]
    ) {
      assertEquals((await upgrade(protocols, { origin })).status, 403, origin);
    }
  }
});

section2("allowed Origins: null, absent, own host by both names, tauri://localhost", async () => {
  const port = it.port;
  const allowed = [
    "null",
    undefined,
    `http://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    "tauri://localhost",
  ];
  for (const origin of allowed) {
    assertEquals((await upgrade(`svc.bearer, ${it.token}`, { origin })).status, 101, origin);
  }
});

section2("svc.bearer not offered, or a wrong token: 401 before the upgrade", async () => {
  const wrong = "0".repeat(64);
  for (
    const protocols of [
      undefined,
      "svc.proto.v1",
      "svc.proto.v2",
      it.token,
      `${it.token}, svc.bearer`,
      "svc.bearer",
      `svc.bearer, ${wrong}`,
      `svc.bearer, ${wrong}, svc.proto.v1`,
      `svc.bearer, ${wrong}, svc.proto.v2`,
      `svc.bearer, ${it.token.slice(0, 63)}`,
      `svc.bearer, ${it.token}0`,
    ]
  ) {
    const { status, headers } = await upgrade(protocols);
    assertEquals(status, 401, protocols);
    assertStringIncludes(headers.get("www-authenticate") ?? "", 'Bearer realm="svc"');
  }
});

section2("versions: svc.proto.v1 offered is selected", async () => {
  for (const more of ["svc.proto.v1", "svc.proto.v2, svc.proto.v1", "svc.proto.v1, svc.proto.v9"]) {
    const { status, protocol } = await upgrade(`svc.bearer, ${it.token}, ${more}`);
    assertEquals([status, protocol], [101, "svc.proto.v1"], more);
  }
});

section2("versions: without any, svc.bearer is selected", async () => {
  const { status, protocol } = await upgrade(`svc.bearer, ${it.token}`);
  assertEquals([status, protocol], [101, "svc.bearer"]);
});

section2("versions: only unknown ones: opened and closed with 1002 migration_hint", async () => {
  for (const more of ["svc.proto.v2", "svc.proto.v2, svc.proto.v3", "svc.proto.v10"]) {
    using ws = await open(`svc.bearer, ${it.token}, ${more}`);
    assertEquals(await ws.closed(), { code: 1002, reason: "migration_hint" }, more);
  }
});

section2("text frames only: a binary frame closes with 1003", async () => {
  using ws = await open();
  await ws.send(BINARY, ask);
  assertEquals((await ws.closed())?.code, 1003);
});

section2("8 MiB a frame: as much is taken, more closes with 1009", async () => {
  using ws = await open();
  await ws.send(TEXT, ask.padEnd(8 * MIB));
  assertEquals((await ws.json()).result.status, "ok");
  using over = await open();
  const sending = over.send(TEXT, ask.padEnd(8 * MIB + 1)).catch(() => {});
  assertEquals((await over.closed())?.code, 1009);
  await sending;
});

section2("the server pings; a dead peer is closed", async () => {
  using ws = await open();
  let pinged = false;
  const late = setTimeout(() => ws[Symbol.dispose](), 180_000);
  try {
    // Never answers a ping.
    for (let frame; (frame = await ws.receive()) !== undefined;) {
      if (frame.opcode === PING) pinged = true;
      if (frame.opcode === CLOSE) break;
    }
    assert(pinged, "no ping before the end");
  } finally {
    clearTimeout(late);
  }
});
