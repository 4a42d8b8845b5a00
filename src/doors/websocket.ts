/** JSON-RPC over WebSocket (contract.md section 2). */
import { Buffer } from "node:buffer";
import { delay } from "@std/async";
// @ts-types="./ws.d.ts"
import { type WebSocket, WebSocketServer } from "ws";
import { joined } from "../base/text_slices.ts";
import { takeConnection } from "../net/upgraded.ts";
import { SvcError } from "../protocol/errors.ts";
import { CALLS_MAX, Connection } from "./rpc/connection.ts";
import type { Dispatcher } from "../verbs/define.ts";
import { decideUpgrade, type Guards, offeredProtocols } from "./guards.ts";

/** Largest message, bytes, in any number of frames. */
const MESSAGE_MAX = 8 * 1024 * 1024;
/** Most pieces of a message; each takes memory of its own. */
const PIECES_MAX = 16 * 1024;
/** A peer that sent nothing since the last ping counts as dead. */
const PING_MS = 15_000;
/** Time for a peer to answer a close. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Most unsent bytes; further events wait in the subscription, which is bounded. */
const BUFFER_MAX = 1024 * 1024;
const POLL_MS = 10;
/** Unread bytes above which further requests close the socket. */
const UNREAD_MAX = 16 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

const CLOSE_PROTOCOL = 1002;
const CLOSE_UNSUPPORTED = 1003;
const CLOSE_POLICY = 1008;

export type OpenSocket = Pick<WebSocket, "close">;

/**
 * Upgrades an accepted request.
 *
 * @param open contains the socket while it is open
 * @throws {SvcError} unauthenticated; validation for an invalid handshake
 */
export function upgradeSocket(
  request: Request,
  dispatcher: Dispatcher,
  guards: Guards,
  open: Set<OpenSocket>,
): Response {
  const offered = offeredProtocols(request.headers);
  const decision = decideUpgrade(offered, guards);
  if ("refuse" in decision) {
    throw new SvcError("unauthenticated", "the handshake must offer svc.bearer and a valid token", {
      hint: "Sec-WebSocket-Protocol: svc.bearer, <token>, svc.proto.v1",
    });
  }
  checkHandshake(request);
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MESSAGE_MAX,
    maxFragments: PIECES_MAX,
    maxBufferedChunks: PIECES_MAX,
    // The library ends a connection with more pings than it has answered.
    autoPong: false,
    closeTimeout: CLOSE_TIMEOUT_MS,
    handleProtocols: () => decision.protocol,
  });
  const headers = Object.fromEntries(request.headers);
  const { stream, response } = takeConnection(request);
  server.handleUpgrade({ method: request.method, headers }, stream, NOTHING, (socket) => {
    // The socket is closed after an error.
    socket.on("error", () => {});
    if (decision.migration) return socket.close(CLOSE_PROTOCOL, "migration_hint");
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    serve(socket, dispatcher);
  });
  return response;
}

function serve(socket: WebSocket, dispatcher: Dispatcher): void {
  const connection = new Connection(dispatcher, "websocket", (text) => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(joined(text));
    if (socket.bufferedAmount > BUFFER_MAX) return drained(socket);
  }, () => socket.terminate());
  let alive = true;
  let calls = 0;
  const heard = () => void (alive = true);
  const pinging = setInterval(() => {
    // A paused peer is not read, so its pong is not seen.
    if (socket.isPaused) return;
    if (!alive) return socket.terminate();
    alive = false;
    socket.ping();
  }, PING_MS);
  const answerPing = pongs(socket);
  socket.on("ping", (data) => {
    heard();
    answerPing(data);
  });
  socket.on("pong", heard);
  socket.on("message", (data, is_binary) => {
    heard();
    if (is_binary) return socket.close(CLOSE_UNSUPPORTED, "text frames only");
    if (socket.bufferedAmount > UNREAD_MAX) return socket.close(CLOSE_POLICY, "read the answers");
    if (++calls >= CALLS_MAX) socket.pause();
    connection.receive(data.toString()).catch(() => socket.terminate()).finally(() => {
      if (--calls < CALLS_MAX && socket.isPaused) socket.resume();
    });
  });
  socket.on("close", () => {
    clearInterval(pinging);
    connection.dispose();
  });
}

/**
 * Returns a function that answers pings. While an answer is being sent, only the newest ping waits
 * (RFC 6455, section 5.5.3), so that a peer that does not read fills no memory.
 */
function pongs(socket: WebSocket): (data: Buffer) => void {
  let newest: Buffer | undefined;
  let sending = false;
  const next = () => {
    const data = newest;
    newest = undefined;
    sending = data !== undefined && socket.readyState === socket.OPEN;
    if (sending) socket.pong(data!, false, next);
  };
  return (data) => {
    newest = data;
    if (!sending) next();
  };
}

/** Refuses an invalid handshake (RFC 6455, section 4.2.1). */
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

/** Resolves when the peer has read enough. */
async function drained(socket: WebSocket): Promise<void> {
  while (socket.readyState === socket.OPEN && socket.bufferedAmount > BUFFER_MAX / 2) {
    await delay(POLL_MS);
  }
}
