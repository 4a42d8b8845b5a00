/** product.md, Authentication and Errors: the loopback WebSocket. */
import { assert, assertEquals } from "@std/assert";
import { RawWebSocket } from "../support/raw.ts";
import { Place } from "../support/svc.ts";
import { WsClient } from "./client.ts";
import { row } from "./row.ts";
import { Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Authentication";
const ERRORS = "Errors";
const VERSIONING = "Versioning";

interface Offer {
  origin?: string;
  host?: string;
  protocols?: string;
}

/** Whether the server takes an upgrade. */
async function accepted(offer: Offer, { port, token } = shared.daemon): Promise<boolean> {
  const protocols = "protocols" in offer ? offer.protocols : `svc.bearer, ${token}`;
  const headers: Record<string, string> = {};
  if (offer.origin !== undefined) headers.origin = offer.origin;
  if (offer.host !== undefined) headers.host = offer.host;
  const { status, socket } = await RawWebSocket.open(port, { path: "/", protocols, headers });
  socket?.[Symbol.dispose]();
  assert(status === 101 || status >= 400, String(status));
  return status === 101;
}

row("product", SECTION, "loopback WebSocket: subprotocol offer svc.bearer, <token>", async () => {
  const { token } = shared.daemon;
  assertEquals(await accepted({}), true);
  for (
    const protocols of [`svc.bearer, ${"0".repeat(64)}`, "svc.bearer", `svc.bearer, ${token}0`]
  ) {
    assertEquals(await accepted({ protocols }), false, protocols);
  }
});

row("product", SECTION, "loopback WebSocket: Origin pin, Host pin", async () => {
  assertEquals(await accepted({ origin: "https://evil.example" }), false);
  assertEquals(await accepted({ host: "evil.example" }), false);
});

row("product", SECTION, "loopback WebSocket: a handshake without svc.bearer fails", async () => {
  const { token } = shared.daemon;
  for (const protocols of [undefined, token, `svc.proto.v1, ${token}`]) {
    assertEquals(await accepted({ protocols }), false, protocols);
  }
});

for (
  const origin of [
    "null",
    undefined,
    "http://127.0.0.1:<port>",
    "http://localhost:<port>",
    "tauri://localhost",
  ]
) {
  row("product", SECTION, `3. WebSocket accepted: Origin ${origin ?? "absent"}`, async () => {
    const own = origin?.replace("<port>", String(shared.daemon.port));
    assertEquals(await accepted({ origin: own }), true);
  });
}

row("product", SECTION, "3. WebSocket accepted only from those Origins", async () => {
  const { port } = shared.daemon;
  const origins = [
    "https://evil.example",
    `http://evil.example:${port}`,
    `http://127.0.0.1:${port + 1}`,
    `https://127.0.0.1:${port}`,
    "http://127.0.0.1",
    "http://localhost",
    `http://localhost:${port}.evil.example`,
    "tauri://evil",
    "file://",
    "http://localhost:5173",
    "",
  ];
  for (const origin of origins) assertEquals(await accepted({ origin }), false, origin);
});

row("product", SECTION, "3. the allowlist is extendable in daemon.toml", async () => {
  await using place = new Place();
  place.configure('[http]\nallowed_origins = ["http://localhost:5173"]\n');
  const daemon = await place.serve();
  assertEquals(await accepted({ origin: "http://localhost:5173" }, daemon), true);
  assertEquals(await accepted({ origin: "http://localhost:5174" }, daemon), false);
});

row("product", ERRORS, "WebSocket upgrade with a disallowed Origin: rejected", async () => {
  assertEquals(await accepted({ origin: "https://evil.example" }), false);
});

row("product", ERRORS, "WebSocket handshake without svc.bearer: fails", async () => {
  assertEquals(await accepted({ protocols: undefined }), false);
});

for (const section of [ERRORS, VERSIONING]) {
  row("product", section, "svc.proto.v2 requested: 1002, migration_hint", async () => {
    const { port, token } = shared.daemon;
    await using ws = await WsClient.connect(port, token, { more: ["svc.proto.v2"] });
    await ws.closed;
    assertEquals(ws.ending, { code: 1002, reason: "migration_hint" });
  });
}

row("product", VERSIONING, "1. the subprotocol svc.proto.v1 is negotiated", async () => {
  const { port, token } = shared.daemon;
  await using ws = await WsClient.connect(port, token, { more: ["svc.proto.v1"] });
  assertEquals(ws.protocol, "svc.proto.v1");
  await ws.call("daemon.health");
  // One that speaks both gets the one that the server knows.
  const more = ["svc.proto.v2", "svc.proto.v1"];
  await using both = await WsClient.connect(port, token, { more });
  assertEquals(both.protocol, "svc.proto.v1");
  await both.call("daemon.health");
});
