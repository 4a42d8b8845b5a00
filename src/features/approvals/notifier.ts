/** Tells a person of questions that wait and long turns that end, on the desktop or by a program. */
import { shownTitle } from "../../session/titles.ts";
import { visibleLine } from "../../base/visible.ts";
import type { LogFile } from "../../os/log.ts";
import { type FoundProgram, personsPrograms, unfound } from "../../os/own_programs.ts";
import { messageOf } from "../../protocol/errors.ts";
import { stopLabel, type StopReason } from "../../protocol/stop_reasons.ts";
import { isWorkTitle } from "../../session/ids.ts";
import type { Session } from "../../session/session.ts";
import type { Published } from "../../session/subscription.ts";
import type { Host } from "../../verbs/host.ts";
import { NOTIFICATIONS, type NotificationsConfig } from "./config.ts";
import { desktopNotice } from "./desktop.ts";
import { startProgram } from "../../os/start.ts";

/** What a program of the person's gets as JSON on standard input. */
export type Notice = ReturnType<typeof about> & (WaitingNotice | EndedNotice);

interface WaitingNotice {
  event: "approval.waiting";
  approval_id: string;
  tool: string;
  reason: string;
  requested_at: string;
}

interface EndedNotice {
  event: "turn.ended";
  turn_id: string;
  stop_reason: StopReason;
  /** The beginning of what the model said last, or what went wrong. */
  text: string;
}

interface NotifierParts {
  config(): NotificationsConfig;
  log: Pick<LogFile, "warn">;
  env: Record<string, string>;
  /** Finds a program where neither another user nor a session can write. */
  find(program: string): FoundProgram | undefined;
}

/** What a program needs to reach the desktop; keys in the daemon's environment are not for it. */
const PASSED = [
  ...["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"],
  ...["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"],
  ...["SystemRoot", "SystemDrive", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"],
];
/** The most characters of a text. */
const TEXT_MAX = 1_000;
/** A program that runs longer is ended. */
const PROGRAM_MS = 30_000;
/** Programs that run at once; more questions than these are not worth a call each. */
const RUNNING_MAX = 8;

/** Makes the notifier of a daemon. */
export function openNotifier({ config, log, env, path, writable }: Host): Notifier {
  return new Notifier({
    config: () => config().of(NOTIFICATIONS),
    log,
    env: Object.fromEntries(PASSED.flatMap((name) => {
      const value = env(name);
      return value === undefined ? [] : [[name, value]];
    })),
    find: personsPrograms(env, path, writable),
  });
}

export class Notifier implements Disposable {
  readonly #parts: NotifierParts;
  readonly #timers = new Set<number>();
  /** When the running turns began, by id. */
  readonly #begun = new Map<string, number>();
  #running = 0;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  /** Takes an event of a session. @param now when it happened, in ms */
  // fold-ok: what a person is told of
  take(session: Session, { type, data }: Published, now: number): void {
    if (type === "approval.requested") this.waits(session, data.approval_id);
    else if (type === "turn.started") this.#begun.set(data.turn_id, now);
    else if (type === "turn.continued") {
      // Otherwise it has lasted over a restart.
      this.#begun.set(data.turn_id, data.after === "asked" ? now : 0);
    } else if (type === "turn.completed") {
      const lasted_ms = now - (this.#begun.get(data.turn_id) ?? now);
      this.#begun.delete(data.turn_id);
      if (lasted_ms < this.#parts.config().turn_s * 1000) return;
      if (data.stop_reason === "cancelled" || isWorkTitle(session.state.title)) return;
      const { turn_id, stop_reason, message, error } = data;
      const said = error ?? message.trim().split("\n\n").at(-1) ?? "";
      const text = said.slice(0, TEXT_MAX).toWellFormed();
      this.#tell({ event: "turn.ended", ...about(session), turn_id, stop_reason, text });
    }
  }

  /** Tells of a question if it still waits once the configured time is over. */
  waits(session: Session, approval_id: string): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const asked = session.state.pending_approvals.find((it) => it.approval_id === approval_id);
      if (asked === undefined || session.final) return;
      const { tool, reason, requested_at } = asked;
      const event = "approval.waiting";
      this.#tell({ event, approval_id, ...about(session), tool, reason, requested_at });
    }, this.#parts.config().after_s * 1000);
    Deno.unrefTimer(timer);
    this.#timers.add(timer);
  }

  #tell(notice: Notice): void {
    const { desktop, command } = this.#parts.config();
    if (command.length > 0) void this.#run(command, JSON.stringify(notice));
    if (!desktop) return;
    const [does, text] = notice.event === "approval.waiting"
      ? ["asks", notice.reason]
      : [`has ended: ${stopLabel(notice.stop_reason)}`, notice.text];
    const title = visibleLine(`${notice.title} ${does}`);
    void this.#run(...desktopNotice(Deno.build.os, { title, text: visibleLine(text) }));
  }

  /** Runs a program outside of any sandbox, as the person named it. */
  async #run(
    [program, ...args]: readonly string[],
    input = "",
    env: Record<string, string> = {},
  ): Promise<void> {
    const { log, find } = this.#parts;
    if (this.#running >= RUNNING_MAX) {
      return log.warn("too many notifications at once", { program });
    }
    this.#running++;
    try {
      const found = find(program);
      if (found === undefined) throw unfound(program);
      const child = startProgram(program, found.cmd, {
        args,
        env: { ...this.#parts.env, PATH: found.path, ...env },
        clearEnv: true,
        cwd: "/",
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      });
      child.unref();
      const late = setTimeout(() => endIfRunning(child), PROGRAM_MS);
      Deno.unrefTimer(late);
      try {
        const writer = child.stdin.getWriter();
        // A program that does not read it closes the pipe.
        await writer.write(new TextEncoder().encode(input)).catch(() => {});
        await writer.close().catch(() => {});
        const { code } = await child.status;
        if (code !== 0) throw new Error(`it exited with ${code}`);
      } finally {
        clearTimeout(late);
      }
    } catch (error) {
      log.warn("a notification failed", { program, error: messageOf(error) });
    } finally {
      this.#running--;
    }
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

function about({ id: session_id, state }: Session) {
  return { session_id, title: shownTitle(state), workdir: state.workdir };
}

function endIfRunning(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended.
  }
}
