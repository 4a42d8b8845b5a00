import type { Retention } from "./retention.ts";
import type { Session, SessionParts } from "./session.ts";
import type { Published } from "./subscription.ts";

export interface HubParts extends
  Pick<
    SessionParts,
    "ids" | "log" | "runTurn" | "goesOn" | "parks" | "compact" | "endBackground"
  > {
  home: string;
  index_path: string;
  /** Directory of the ledger anchors, one file per session. */
  anchors: string;
  journal_links: string;
  version: string;
  /**
   * Where a command works that sees new files of a directory: around it, or in the checkout around
   * it. It sees nothing in the `.svc` there.
   */
  runsAbove?(directory: string): string | undefined;
  /** Whether tools always see a path; undefined until known. */
  isShown?(path: string): boolean | undefined;
  retention(): Retention;
  /** Called with events once they are in the journal; must not wait or throw. */
  onEvents?(session: Session, events: readonly Published[]): void;
  /** Called when a session ends, to end its tools' processes and workers. */
  onEnded(session: Session): void;
  /** Called when a session's directory changes or is renamed. */
  onMoved?(session_id: string): void;
  /** Called when a session is deleted; resolves when the features have removed their data. */
  onDeleted?(session_id: string): Promise<void>;
  /** Called when the last busy session comes to rest. */
  onRest(): void;
}
