/** The state of an MCP conversation that a new daemon needs. */

/** A JSON-RPC message, as far as the bridge reads it. */
export interface McpMessage {
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  // deno-lint-ignore no-explicit-any -- looked at where it is known what it answers
  result?: any;
  error?: unknown;
}

interface Pending {
  line: string;
  message: McpMessage;
  /** Whether it was repeated after the loss of a daemon. */
  asked_again?: boolean;
}

/** Prefix of the bridge's own ids; clients do not use it. */
const OWN_ID = "svc-mcp-serve-";

const ABOVE_WARNING = ["error", "critical", "alert", "emergency"];

/** For calls with unknown outcome (contract.md section 4). */
const CRASH_RECOVERY = { code: -32008, svc_code: "crash_recovery" };

export class McpConversation {
  #pending = new Map<string | number, Pending>();
  #initialize: McpMessage | undefined;
  #initialized = false;
  #level: McpMessage | undefined;
  #watched = new Map<string, McpMessage>();
  #version: string | undefined;
  #own_ids = 0;

  get waits(): boolean {
    return this.#pending.size > 0;
  }

  get hears_warnings(): boolean {
    return !ABOVE_WARNING.includes(String(this.#level?.params?.level));
  }

  /** Resources that the client subscribed to. */
  get watched(): string[] {
    return [...this.#watched.keys()];
  }

  /** Records a message from the client. */
  sent(message: McpMessage, line: string): void {
    const { id, method, params } = message;
    if (method === undefined) return;
    if (id !== undefined && id !== null) this.#pending.set(id, { line, message });
    if (method === "initialize") this.#initialize = message;
    if (method === "logging/setLevel") this.#level = message;
    if (method === "resources/subscribe") this.#watched.set(String(params?.uri), message);
    if (method === "resources/unsubscribe") this.#watched.delete(String(params?.uri));
    // A cancelled request gets no answer.
    if (method === "notifications/cancelled") this.#pending.delete(params?.requestId as string);
  }

  /** Records an answer from the daemon. */
  answered({ id, method, result, error }: McpMessage): void {
    if (method !== undefined || id === undefined || id === null) return;
    const asked = this.#pending.get(id)?.message;
    this.#pending.delete(id);
    if (asked?.method === "initialize" && result !== undefined) {
      this.#initialized = true;
      this.#version = result.serverInfo?.version;
    }
    if (asked?.method === "resources/subscribe" && error !== undefined) {
      this.#watched.delete(String(asked.params?.uri));
    }
  }

  /** Whether a message answers {@linkcode McpConversation.replay}. */
  isOwn({ id }: McpMessage): boolean {
    return typeof id === "string" && id.startsWith(OWN_ID);
  }

  /** Messages to repeat to a new daemon; none before initialization. */
  replay(): McpMessage[] {
    if (!this.#initialized) return [];
    const again = [this.#level, ...this.#watched.values()].filter((it) => it !== undefined);
    return [
      this.#own(this.#initialize!),
      { method: "notifications/initialized" },
      ...again.map((message) => this.#own(message)),
    ];
  }

  /** Records the new daemon's answer to `initialize`. @returns whether its version differs */
  resumed({ result }: McpMessage): boolean {
    const version = result?.serverInfo?.version;
    if (version === undefined || version === this.#version) return false;
    this.#version = version;
    return true;
  }

  /**
   * Sorts the requests that the lost daemon left unanswered into lines to repeat and failures. Tool
   * calls fail, because they may have run; so do requests over which two daemons were lost.
   */
  takeUnanswered(): { again: string[]; answers: string[] } {
    const again: string[] = [];
    const answers: string[] = [];
    for (const [id, pending] of this.#pending) {
      if (pending.message.method !== "tools/call" && !pending.asked_again) {
        pending.asked_again = true;
        again.push(pending.line);
        continue;
      }
      this.#pending.delete(id);
      answers.push(failure(
        id,
        CRASH_RECOVERY,
        "lost the connection to the daemon during this call, and its outcome is unknown; check before " +
          "asking again",
      ));
    }
    return { again, answers };
  }

  /** Fails all pending requests. */
  failAll(error: { svc_code: string; message: string }): string[] {
    const answers = [...this.#pending.keys()].map((id) =>
      failure(id, { code: -32603, svc_code: error.svc_code }, error.message)
    );
    this.#pending.clear();
    return answers;
  }

  #own(message: McpMessage): McpMessage {
    return { ...message, id: `${OWN_ID}${++this.#own_ids}` };
  }
}

function failure(
  id: string | number,
  { code, svc_code }: { code: number; svc_code: string },
  message: string,
): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data: { svc_code } } });
}
