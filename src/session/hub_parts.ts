/** What all sessions of a daemon are made of. */
import type { Log } from "../os/log.ts";
import type { Ids } from "./ids.ts";
import type { Retention } from "./retention.ts";
import type { Session, SessionParts } from "./session.ts";
import type { Published } from "./subscription.ts";

export interface HubParts {
  home: string;
  index_path: string;
  /** Where ledger anchors are kept, a file a session. */
  anchors: string;
  journal_links: string;
  version: string;
  ids: Ids;
  log: Log;
  /**
   * Where a command works now that sees what is made in a directory: around it, or in the checkout
   * around. It sees nothing in the `.svc` there.
   */
  runsAbove?(directory: string): string | undefined;
  /**
   * Whether a path lies in a directory that tools see wherever they work, or around one; undefined as
   * long as that is not known.
   */
  isShown?(path: string): boolean | undefined;
  runTurn: SessionParts["runTurn"];
  goesOn?: SessionParts["goesOn"];
  compact?: SessionParts["compact"];
  endBackground?: SessionParts["endBackground"];
  retention(): Retention;
  /** Told what was committed, once it is in the session's journal; must neither wait nor throw. */
  onEvents?(session: Session, events: readonly Published[]): void;
  /** Called when a session is gone, so that its tools' processes and workers go too. */
  onEnded(session: Session): void;
  /** Called when a session works in another directory, or its own has another path. */
  onMoved?(session_id: string): void;
  /** Called when a session is deleted: resolves when the features have nothing left of it. */
  onDeleted?(session_id: string): Promise<void>;
  /** Called when the last busy session has come to rest. */
  onRest(): void;
}
