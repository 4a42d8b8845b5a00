/** Events of sessions, and names in them that code uses. */
import type { EventType } from "./event_data.ts";

export type * from "./event_data.ts";

/** Events that are flushed to disk before clients see them (contract.md section 6). */
export const DURABLE: ReadonlySet<EventType> = new Set<EventType>([
  "session.configured",
  "session.moved",
  "session.paused",
  "session.rewound",
  "session.ended",
  "turn.completed",
  "turn.parked",
  "user.queued",
  "user.withdrawn",
]);

/** The lane of a session's own conversation. */
export const MAIN_LANE = "main";

/** `reason_code` of the note about unreadable files of commands and skills. */
export const FILES_UNREADABLE = "files_unreadable";
/** `reason_code` of the note before a model call is retried: its text so far is void. */
export const MODEL_RETRY = "model_retry";

/** `reason_code` of a note about a bad answer, which the next model call contains. */
export const MODEL_TOLD = "model_told";

/** The tool that reads what a compaction left out. */
export const READ_EARLIER = "read_earlier";

/** The tool that runs subagents. */
export const SUBAGENT = "agent";

/** `reason_code` of the note that an event of a model's answer was unreadable. */
export const MODEL_SKIPPED = "model_event_skipped";

/** `reason_code` of the note that states of files cannot be kept. */
export const UNDO_UNAVAILABLE = "undo_unavailable";

/** `reason_code` of the note on written files that other programs run later. */
export const LATER_FILES = "later_files";

/** `reason_code` of a published note. */
export const PUBLISHED = "published";

/** `reason_code`s of the notes that pin and unpin a lane. */
export const PINNED = "pinned";
export const UNPINNED = "unpinned";
