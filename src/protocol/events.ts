/** The events of sessions, and the names in them that the code knows. */
import type { EventType } from "./event_data.ts";

export type * from "./event_data.ts";

/** Events after which the journal is flushed to disk before anyone sees them (contract.md section 6). */
export const DURABLE: ReadonlySet<EventType> = new Set<EventType>([
  "session.configured",
  "session.moved",
  "session.paused",
  "session.rewound",
  "session.ended",
  "turn.completed",
  "user.withdrawn",
]);

/** The lane that carries a session's own conversation. */
export const MAIN_LANE = "main";

/** The `reason_code` of the note about files of commands and skills that cannot be read. */
export const FILES_UNREADABLE = "files_unreadable";
/** The `reason_code` of the note before a model call is tried again: what it said so far is void. */
export const MODEL_RETRY = "model_retry";

/** The `reason_code` of a note that the next model call contains: what was wrong with an answer. */
export const MODEL_TOLD = "model_told";

/** The tool that reads again what a compaction left out. */
export const READ_EARLIER = "read_earlier";

/** The tool that runs subagents. */
export const SUBAGENT = "agent";

/** The `reason_code` of the note that an event of a model's answer could not be read. */
export const MODEL_SKIPPED = "model_event_skipped";

/** The `reason_code` of the note that the states of the files cannot be kept. */
export const UNDO_UNAVAILABLE = "undo_unavailable";

/** The `reason_code` of the note that names what a turn wrote that other programs run later. */
export const LATER_FILES = "later_files";

/** The `reason_code` of a note that was published to the session. */
export const PUBLISHED = "published";

/** The `reason_code`s of the notes that pin a lane and let it go. */
export const PINNED = "pinned";
export const UNPINNED = "unpinned";
