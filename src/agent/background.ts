import { backgroundEndedText, COMMAND_SHOWN } from "../protocol/background_text.ts";
import { SvcError } from "../protocol/errors.ts";
import type { EventData } from "../protocol/events.ts";
import { BackgroundCommand, type BackgroundOptions } from "../jail/background_command.ts";
import type { OutputPiece } from "../jail/output_ring.ts";
import type { Log } from "../os/log.ts";
import type { Session } from "../session/session.ts";
import type { WayOut } from "./way_out.ts";
import { within } from "../base/within.ts";

/** Maximum number of running commands in a session. */
export const RUNNING_MAX = 8;
/** Ended commands of a session whose output is kept. */
const ENDED_KEPT = 8;
/** How long the end of a session waits for its commands to be killed. */
const STOP_MS = 7_000;

type EndReason = EventData["background.ended"]["reason"];

export interface SessionCommand {
  readonly command_id: string;
  readonly command: string;
  /** What it was allowed beyond the sandbox, in words. */
  readonly beyond: string | undefined;
  readonly started_at: string;
  readonly process: BackgroundCommand;
  /** Its own way out, if it has one. */
  readonly way_out?: WayOut;
  /** How far the model has read its output. */
  model_read: number;
  /** How many refused connections the model was told. */
  refusals_read: number;
  /** Its end, as recorded. */
  ended?: EventData["background.ended"];
  /** Why it is being stopped, and by whom. */
  stopping?: { reason: EndReason; by?: string };
  /** Resolves once its end is recorded. */
  recorded: Promise<void>;
}

export interface StartOptions extends BackgroundOptions {
  command_id: string;
  call_id?: string;
  beyond: string | undefined;
  /** Ends with the command, or if that does not start. */
  way_out?: WayOut;
  /** Aborts the start. */
  signal: AbortSignal;
}

export class BackgroundCommands {
  readonly #log: Log;
  readonly #sessions = new Map<string, SessionCommand[]>();
  #closed = false;
  /** False once the sessions have stopped: later ends are recorded when they return. */
  #recording = true;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The known commands of a session, oldest first. */
  of(session_id: string): readonly SessionCommand[] {
    return this.#sessions.get(session_id) ?? [];
  }

  /** @throws {SvcError} not_found, naming the running ones. */
  get(session_id: string, command_id: string): SessionCommand {
    const found = this.of(session_id).find((it) => it.command_id === command_id);
    if (found !== undefined) return found;
    const running = this.of(session_id).filter(({ ended }) => ended === undefined);
    const known = running.map(({ command_id }) => command_id).join(", ") || "none";
    const message = `there is no background command ${command_id}; running: ${known}`;
    throw new SvcError("not_found", message, {
      hint: "background commands end with their session and with the daemon",
    });
  }

  /**
   * Starts a command.
   *
   * @throws {SvcError} conflict if too many run; shutting_down if the daemon stops.
   * @throws the signal's reason
   */
  async start(session: Session, options: StartOptions): Promise<SessionCommand> {
    const { command_id, call_id, beyond, signal, way_out, ...run } = options;
    const shown = oneLine(run.command);
    try {
      await run.sandbox.starts.next();
      await run.sandbox.sharesNetwork(session.id);
      signal.throwIfAborted();
      this.#requireRoom(session.id);
    } catch (error) {
      await way_out?.[Symbol.asyncDispose]();
      throw error;
    }
    const command: SessionCommand = {
      command_id,
      command: run.command,
      beyond,
      started_at: new Date().toISOString(),
      process: new BackgroundCommand(run),
      way_out,
      model_read: 0,
      refusals_read: 0,
      recorded: Promise.resolve(),
    };
    void command.process.ended.then(() => way_out?.[Symbol.asyncDispose]());
    this.#sessions.set(session.id, [...this.of(session.id), command]);
    const started = session.emit("background.started", { command_id, command: shown, call_id });
    command.recorded = this.#record(session, command, started);
    await started;
    return command;
  }

  #requireRoom(session_id: string): void {
    if (this.#closed) throw new SvcError("shutting_down", "the daemon is stopping");
    const running = this.of(session_id).filter(({ process }) => process.end === undefined);
    if (running.length < RUNNING_MAX) return;
    const ids = running.map(({ command_id }) => command_id).join(", ");
    throw new SvcError("conflict", `${RUNNING_MAX} background commands already run: ${ids}`, {
      hint: "stop one with stop_command",
    });
  }

  /** Records the end of a command; never rejects. */
  async #record(
    session: Session,
    command: SessionCommand,
    started: Promise<unknown>,
  ): Promise<void> {
    const { process, command_id } = command;
    // A command that cannot be recorded does not run.
    started.catch(() => process.stop());
    const end = await process.ended;
    const { stopping } = command;
    const reason = end.stopped
      ? stopping?.reason ?? "stopped"
      : end.problem !== undefined
      ? "failed"
      : end.timed_out
      ? "timeout"
      : "exited";
    const { exit_code, signal } = end;
    command.ended = {
      command_id,
      command: oneLine(command.command),
      reason,
      ...(reason === "exited" && exit_code != null && { exit_code }),
      ...(reason === "exited" && signal != null && { signal }),
      ...(end.stopped && stopping?.by !== undefined && { by: stopping.by }),
      output_bytes: process.output.total,
    };
    this.#forgetOldest(session.id);
    if (!this.#recording) return;
    try {
      await session.emit("background.ended", command.ended);
    } catch (error) {
      this.#log.warn("cannot record the end of a background command", {
        session_id: session.id,
        command: backgroundEndedText(command.ended),
        error: String(error),
      });
    }
  }

  #forgetOldest(session_id: string): void {
    const all = this.of(session_id);
    const ended = all.filter(({ ended }) => ended !== undefined);
    const oldest = ended.length > ENDED_KEPT ? ended[0] : undefined;
    if (oldest !== undefined) this.#sessions.set(session_id, all.filter((it) => it !== oldest));
  }

  /**
   * Stops a command, if it runs.
   *
   * @param by the door, or `model`.
   * @returns whether it was running.
   */
  async stop(session_id: string, command_id: string, by: string): Promise<boolean> {
    const command = this.get(session_id, command_id);
    if (command.process.end !== undefined) return false;
    await this.#stop(command, { reason: "stopped", by });
    return true;
  }

  async #stop(command: SessionCommand, why: SessionCommand["stopping"]): Promise<void> {
    command.stopping ??= why;
    await command.process.stop();
    await command.recorded;
  }

  /** Ends the commands of a session that ends, and records that; never rejects. */
  async endSession(session_id: string): Promise<void> {
    const stopped = this.of(session_id).map((it) => this.#stop(it, { reason: "session_ended" }));
    await within(Promise.all(stopped), STOP_MS);
    this.#sessions.delete(session_id);
  }

  /** Ends all commands; the rest end with this process. Never rejects. */
  async close(grace_ms: number): Promise<void> {
    const all = [...this.#sessions.values()].flat();
    const stopped = all.map((it) => this.#stop(it, { reason: "daemon_stopped" }));
    this.#closed = true;
    await within(Promise.all(stopped), grace_ms);
    this.#recording = false;
  }

  /** Continues reading where the model stopped. */
  readForModel(command: SessionCommand, max: number): OutputPiece {
    const piece = readFrom(command, command.model_read, max);
    command.model_read = piece.next;
    return piece;
  }
}

/** Reads a command's output from a position. */
export function readFrom({ process }: SessionCommand, from: number, max: number): OutputPiece {
  return process.output.read(from, max, process.end !== undefined);
}

function oneLine(command: string): string {
  const line = command.trim().replaceAll(/\s+/g, " ");
  return line.length > COMMAND_SHOWN ? `${line.slice(0, COMMAND_SHOWN).toWellFormed()}…` : line;
}
