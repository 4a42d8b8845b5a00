/** What a mission reports: its log, its files, and events and lanes of its session. */
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import {
  type EventData,
  type EventType,
  type LaneStatus,
  MAIN_LANE,
} from "../../protocol/events.ts";
import { askedText } from "../../session/question_text.ts";
import type { Session } from "../../session/session.ts";
import { findLane, laneEnded } from "../../session/state_steps.ts";
import type { Published } from "../../session/subscription.ts";
import { type Change, View } from "../../session/view.ts";
import { clipped, shownLines } from "../../session/view_lines.ts";
import type { MissionFiles } from "./files.ts";
import type { LogLine, MissionStore } from "./store.ts";

export interface ReportParts {
  mission_id: string;
  session: Session;
  store: MissionStore;
  files: MissionFiles;
  log: Log;
  new_lane_id(): string;
}

export class Report {
  readonly #parts: ReportParts;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  get session(): Session {
    return this.#parts.session;
  }

  /**
   * Adds a line to the mission's log and its files.
   *
   * @param options.failure also to standard error.
   * @returns the line's name as evidence.
   */
  note(line: LogLine, { failure = false } = {}): string {
    const { mission_id, store, files } = this.#parts;
    const at = new Date().toISOString();
    const seq = store.log(mission_id, at, line);
    const { task_id, ac_id, event, detail } = line;
    const about = task_id ?? ac_id;
    const text = [at, about === undefined ? event : `[${about}] ${event}`, detail]
      .filter((part) => part !== undefined).join(" ").trimEnd();
    files.append(text, "stdout");
    if (failure) files.append(text, "stderr");
    return `${mission_id}#${seq}`;
  }

  /** Records an event in the mission's session, if that has not ended. */
  async emit<T extends EventType>(type: T, data: EventData[T]): Promise<void> {
    await tolerant(() => this.#parts.session.emit(type, data));
  }

  async openLane(label: string, parent_lane_id: string = MAIN_LANE): Promise<MissionLane> {
    const { session, new_lane_id } = this.#parts;
    const lane_id = new_lane_id();
    await tolerant(() =>
      session.lanes.open({
        lane_id,
        kind: "mission_task",
        parent_lane_id,
        label,
        started_at: new Date().toISOString(),
      })
    );
    return new MissionLane(session, lane_id);
  }

  /** Logs a failure that the mission's client does not see. */
  warn(message: string, error: unknown): void {
    const { log, mission_id } = this.#parts;
    log.warn(message, { mission_id, error: messageOf(error) });
  }
}

/** A lane that mirrors a job of a mission. */
export class MissionLane {
  readonly id: string;
  /** Fires when someone kills the lane. */
  readonly signal: AbortSignal;
  readonly #session: Session;
  readonly #forget: () => void;
  /** What a person sees of the working session. */
  readonly #view = new View();

  constructor(session: Session, id: string) {
    this.id = id;
    this.#session = session;
    const killed = new AbortController();
    this.signal = killed.signal;
    this.#forget = session.lanes.onKilled(id, () => killed.abort(new LaneKilled()));
  }

  /** Moves it, unless it has ended. */
  async move(status: LaneStatus, reason: string, reason_code: string): Promise<void> {
    const lane = findLane(this.#session.state, this.id);
    if (lane === undefined || laneEnded(lane)) return;
    await tolerant(() => this.#session.lanes.move(this.id, status, reason, reason_code));
  }

  /** Ends it; one that never ran is cancelled. */
  async end(status: "done" | "errored" | "cancelled", reason: string): Promise<void> {
    this.#forget();
    const pending = findLane(this.#session.state, this.id)?.status === "pending";
    await this.move(pending ? "cancelled" : status, reason, status);
  }

  /** Shows an event of the working session. */
  // fold-ok: what a lane's status and cost take from its session; view.ts says what is shown
  mirror(event: Published): void {
    for (const change of this.#view.apply(event)) this.#show(change);
    switch (event.type) {
      case "cost.tick": {
        const { usd_delta, tokens_in, tokens_out, tokens_cached } = event.data;
        const cost = { usd_delta, tokens_in, tokens_out, tokens_cached };
        unawaited(this.#session.emit("lane.cost", { lane_id: this.id, ...cost }));
        break;
      }
      case "approval.requested":
        unawaited(
          this.move("blocked", `session ${event.session_id} is waiting for approval`, "approval"),
        );
        break;
      case "approval.resolved":
        unawaited(this.move("running", "the approval was decided", "approval"));
        break;
    }
  }

  #show(change: Change): void {
    if (change.type === "grew") {
      if (change.item.kind === "text") this.#say(change.text);
      return;
    }
    if (change.type === "added" && change.item.kind === "text") return this.#say(change.item.text);
    const lines = change.type === "asked"
      ? [`? ${askedText(change.request)}`]
      : shownLines(change).map(({ mark, text }) => {
        const shown = clipped(text, LINE_MAX);
        return mark === undefined ? shown : `${mark} ${shown}`;
      });
    if (lines.length > 0) this.#say(`\n${lines.join("\n")}\n`);
  }

  #say(text: string): void {
    const lane = findLane(this.#session.state, this.id);
    if (lane !== undefined && !laneEnded(lane)) this.#session.emitLaneText(this.id, text);
  }
}

/** Characters of a line in a lane; the working session has all of it. */
const LINE_MAX = 400;

/** A lane was killed: its job is cancelled, not the mission. */
export class LaneKilled extends Error {
  override name = "LaneKilled";

  constructor() {
    super("its lane was stopped");
  }
}

/** Not worth failing for: a journal that cannot be written fails what matters. */
function unawaited(promise: Promise<unknown>): void {
  promise.catch(() => {});
}

/** An ended session takes no events; the mission's own log has them. */
async function tolerant(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SvcError && error.code === "ended")) throw error;
  }
}
