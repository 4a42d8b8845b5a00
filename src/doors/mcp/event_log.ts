import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";

/** Limits of one client's log: characters of JSON, and messages. */
const CHARS_MAX = 1024 * 1024;
const MESSAGES_MAX = 4_096;

interface Entry {
  id: string;
  stream: string;
  message: JSONRPCMessage;
  chars: number;
}

/** Keeps the last messages to a client, so that a broken stream can resume (`Last-Event-ID`). */
export class EventLog implements EventStore {
  #entries: Entry[] = [];
  #chars = 0;
  #count = 0;

  storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = String(++this.#count);
    const chars = JSON.stringify(message).length;
    this.#entries.push({ id, stream, message, chars });
    this.#chars += chars;
    while (this.#entries.length > 1 && this.#isFull()) this.#chars -= this.#entries.shift()!.chars;
    return Promise.resolve(id);
  }

  /** Whether an event is the answer that ended its stream. */
  endsStream(id: string): boolean {
    const message = this.#entries.find((entry) => entry.id === id)?.message;
    return message !== undefined && ("result" in message || "error" in message);
  }

  getStreamIdForEventId(id: string): Promise<string | undefined> {
    return Promise.resolve(this.#entries.find((entry) => entry.id === id)?.stream);
  }

  /** @throws {Error} when the event is no longer in the log */
  async replayEventsAfter(
    last_id: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#entries.findIndex(({ id }) => id === last_id);
    if (at < 0) throw new Error(`the event ${last_id} is no longer available`);
    const { stream } = this.#entries[at];
    for (const entry of this.#entries.slice(at + 1)) {
      // The first event of a stream only marks its start.
      if (entry.stream === stream && "jsonrpc" in entry.message) {
        await send(entry.id, entry.message);
      }
    }
    return stream;
  }

  #isFull(): boolean {
    return this.#chars > CHARS_MAX || this.#entries.length > MESSAGES_MAX;
  }
}
