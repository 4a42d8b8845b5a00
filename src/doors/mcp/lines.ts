import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type { Receiver, Send } from "../rpc/connection.ts";
import { type Incoming, readMessage } from "./incoming.ts";

const PARSE_ERROR = -32700;

/** MCP with one message per line. */
export class LineTransport implements Transport, Receiver {
  readonly #send: Send;
  #closed = false;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(send: Send) {
    this.#send = send;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Resolves when the peer can receive more. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#closed) await this.#send(JSON.stringify(message));
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.onclose?.();
    }
    return Promise.resolve();
  }

  async receive(text: string): Promise<void> {
    const read = readText(text);
    if ("message" in read) this.onmessage?.(read.message);
    else if (!this.#closed) await this.#send(JSON.stringify(read.refusal));
  }

  dispose(): void {
    this.close();
  }
}

function readText(text: string): Incoming {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    const error = { code: PARSE_ERROR, message: "the message is not valid JSON" };
    return { refusal: { jsonrpc: "2.0", id: null, error } };
  }
  return readMessage(message);
}
