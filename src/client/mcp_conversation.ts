/** What has to be remembered of an MCP conversation so that a new daemon can take it over. */

/** A JSON-RPC message, as far as the bridge looks into it. */
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
  /** Whether a daemon was lost over it before. */
  asked_again?: boolean;
}

/** Ids of what the bridge asks for itself; no client's begin like this. */
const OWN_ID = "svc-mcp-serve-";

const ABOVE_WARNING = ["error", "critical", "alert", "emergency"];

/** The number and word for what a crash left unknown (contract.md section 4). */
const CRASH_RECOVERY = { code: -32008, svc_code: "crash_recovery" };

export class McpConversation {
  #pending = new Map<string | number, Pending>();
  #initialize: McpMessage | undefined;
  #initialized = false;
  #level: McpMessage | undefined;
  #watched = new Map<string, McpMessage>();
  #version: string | undefined;
  #own_ids = 0;

  /** Whether the client waits for an answer. */
  get waits(): boolean {
    return this.#pending.size > 0;
  }

  /** Whether the client's log level lets warnings through. */
  get hears_warnings(): boolean {
    return !ABOVE_WARNING.includes(String(this.#level?.params?.level));
  }

  /** Resources that the client is told the changes of. */
  get watched(): string[] {
    return [...this.#watched.keys()];
  }

  /** Takes note of what the client says. */
  sent(message: McpMessage, line: string): void {
    const { id, method, params } = message;
    if (method === undefined) return;
    if (id !== undefined && id !== null) this.#pending.set(id, { line, message });
    if (method === "initialize") this.#initialize = message;
    if (method === "logging/setLevel") this.#level = message;
    if (method === "resources/subscribe") this.#watched.set(String(params?.uri), message);
    if (method === "resources/unsubscribe") this.#watched.delete(String(params?.uri));
    // It will not be answered any more.
    if (method === "notifications/cancelled") this.#pending.delete(params?.requestId as string);
  }

  /** Takes note of what the daemon answers. */
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

  /** Whether a message answers what {@linkcode McpConversation.replay} says. */
  isOwn({ id }: McpMessage): boolean {
    return typeof id === "string" && id.startsWith(OWN_ID);
  }

  /** What a new daemon is to be told before the conversation goes on; nothing before its start. */
  replay(): McpMessage[] {
    if (!this.#initialized) return [];
    const again = [this.#level, ...this.#watched.values()].filter((it) => it !== undefined);
    return [
      this.#own(this.#initialize!),
      { method: "notifications/initialized" },
      ...again.map((message) => this.#own(message)),
    ];
  }

  /**
   * Takes note of the new daemon's answer to the replayed `initialize`.
   *
   * @returns whether it is another version than the one before, which may have other tools.
   */
  resumed({ result }: McpMessage): boolean {
    const version = result?.serverInfo?.version;
    if (version === undefined || version === this.#version) return false;
    this.#version = version;
    return true;
  }

  /**
   * Parts what the lost daemon has left unanswered.
   *
   * @returns lines to send again, and answers for the client: whether a tool has done its work
   * nobody knows, so it is not run a second time; and what two daemons were lost over may be why.
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

  /** Answers for everything that waits, when no daemon can be had. */
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
