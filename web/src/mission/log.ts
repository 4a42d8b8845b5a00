/** The newest lines of a mission's log, read on from where it was read before. */
import { signal } from "@preact/signals";
import type { Result } from "../rpc/api.ts";
import type { Client } from "../rpc/client.ts";

export type LogEntry = Result<"mission.logs">["entries"][number];

/** Lines that are kept: the newest. */
const KEPT = 1_000;
const PAGE = 200;

export class MissionLog {
  readonly #client: Client;
  readonly #mission_id: string;
  readonly entries = signal<readonly LogEntry[]>([]);

  constructor(client: Client, mission_id: string) {
    this.#client = client;
    this.#mission_id = mission_id;
  }

  /** Reads what was written since the last time. @throws {RpcError} what the verb says. */
  async read(): Promise<void> {
    for (;;) {
      const { entries } = await this.#client.ask("mission.logs", {
        mission_id: this.#mission_id,
        since_seq: this.entries.peek().at(-1)?.seq,
        limit: PAGE,
      });
      if (entries.length === 0) return;
      this.entries.value = [...this.entries.peek(), ...entries].slice(-KEPT);
      if (entries.length < PAGE) return;
    }
  }
}
