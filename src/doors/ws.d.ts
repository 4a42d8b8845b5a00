/** The parts of the package `ws` that are used; its own types would bring in all of Node's. */
import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";

export interface ServerOptions {
  noServer: true;
  clientTracking: boolean;
  /** The most bytes in a message. */
  maxPayload: number;
  /** The most frames in a message. */
  maxFragments: number;
  /** The most reads of a frame. */
  maxBufferedChunks: number;
  /** Whether it answers pings by itself. */
  autoPong: boolean;
  /** Milliseconds until a peer that does not answer a close is disconnected. */
  closeTimeout: number;
  handleProtocols(): string;
}

export interface Handshake {
  method: string;
  headers: Record<string, string>;
}

export class WebSocketServer {
  constructor(options: ServerOptions);
  handleUpgrade(
    request: Handshake,
    stream: Duplex,
    head: Buffer,
    opened: (socket: WebSocket) => void,
  ): void;
}

export class WebSocket {
  readonly readyState: number;
  readonly OPEN: number;
  readonly bufferedAmount: number;
  send(text: string): void;
  ping(): void;
  pong(data: Buffer, mask: boolean, sent: () => void): void;
  close(code: number, reason: string): void;
  terminate(): void;
  readonly isPaused: boolean;
  pause(): void;
  resume(): void;
  on(event: "message", listener: (data: Buffer, is_binary: boolean) => void): void;
  on(event: "close" | "error" | "pong", listener: () => void): void;
  on(event: "ping", listener: (data: Buffer) => void): void;
}
