/** JSON-RPC over WebSocket (contract.md section 2). */
import { delay } from "@std/async";
import { SvcError } from "../protocol/errors.ts";
import { Connection } from "./rpc/connection.ts";
import type { Dispatcher } from "../verbs/define.ts";
import { decideUpgrade, type Guards, offeredProtocols } from "./guards.ts";

const FRAME_MAX = 8 * 1024 * 1024;
/** Seconds without an answer to a ping after which the peer is dead. */
const IDLE_TIMEOUT_S = 30;
/** Bytes that may lie unsent before events wait in the subscription, which is bounded. */
const BUFFER_MAX = 1024 * 1024;
const POLL_MS = 10;
/** Bytes of answers that a peer may leave unread while it goes on asking. */
const UNREAD_MAX = 16 * 1024 * 1024;

const CLOSE_PROTOCOL = 1002;
const CLOSE_UNSUPPORTED = 1003;
const CLOSE_POLICY = 1008;
const CLOSE_TOO_BIG = 1009;

/**
 * Upgrades a request whose Host and Origin passed.
 *
 * @param open holds the socket for as long as it is open.
 * @throws {SvcError} unauthenticated; validation for a handshake that is none.
 */
export function upgradeSocket(
  request: Request,
  dispatcher: Dispatcher,
  guards: Guards,
  open: Set<WebSocket>,
): Response {
  const offered = offeredProtocols(request.headers);
  const decision = decideUpgrade(offered, guards);
  if ("refuse" in decision) {
    throw new SvcError("unauthenticated", "the handshake must offer svc.bearer and a valid token", {
      hint: "Sec-WebSocket-Protocol: svc.bearer, <token>, svc.proto.v1",
    });
  }
  checkHandshake(request);
  // Deno finds a protocol only in a list that is separated by ", "; many clients leave out the space.
  const headers = new Headers(request.headers);
  headers.set("sec-websocket-protocol", offered.join(", "));
  Object.defineProperty(request, "headers", { value: headers });
  const { socket, response } = Deno.upgradeWebSocket(request, {
    protocol: decision.protocol,
    idleTimeout: IDLE_TIMEOUT_S,
  });
  if (decision.migration) {
    socket.onopen = () => socket.close(CLOSE_PROTOCOL, "migration_hint");
    return response;
  }
  const connection = new Connection(dispatcher, "websocket", (text) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(text);
    if (socket.bufferedAmount > BUFFER_MAX) return drained(socket);
  });
  socket.onmessage = ({ data }) => {
    if (typeof data !== "string") return socket.close(CLOSE_UNSUPPORTED, "text frames only");
    if (isTooLong(data)) return socket.close(CLOSE_TOO_BIG, "8 MiB a frame at most");
    if (socket.bufferedAmount > UNREAD_MAX) return socket.close(CLOSE_POLICY, "read the answers");
    connection.receive(data);
  };
  open.add(socket);
  socket.onclose = () => {
    open.delete(socket);
    connection.dispose();
  };
  socket.onerror = () => {};
  return response;
}

/** Refuses what Deno would fail at, or let pass (RFC 6455, section 4.2.1). */
function checkHandshake({ method, headers }: Request): void {
  const upgrades = (headers.get("connection") ?? "").toLowerCase().split(",")
    .some((it) => it.trim() === "upgrade");
  const key = headers.get("sec-websocket-key") ?? "";
  const version = headers.get("sec-websocket-version");
  if (method === "GET" && upgrades && /^[A-Za-z0-9+/]{22}==$/.test(key) && version === "13") return;
  throw new SvcError("validation", "this is not a WebSocket handshake", {
    hint: "GET with Connection: Upgrade, Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key",
  });
}

function isTooLong(text: string): boolean {
  // One UTF-16 unit takes three bytes of UTF-8 at most.
  if (text.length * 3 <= FRAME_MAX) return false;
  return text.length > FRAME_MAX || new TextEncoder().encode(text).length > FRAME_MAX;
}

/** Resolves when the peer has read enough. WebSocket has no event for it. */
async function drained(socket: WebSocket): Promise<void> {
  while (socket.readyState === WebSocket.OPEN && socket.bufferedAmount > BUFFER_MAX / 2) {
    await delay(POLL_MS);
  }
}
