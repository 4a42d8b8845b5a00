/** The background unit on Linux: `svc.service` of the user's systemd. */
import { dirname, join } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import { atomicWrite, readTextIfAny } from "../../os/files.ts";
import { runProgram } from "../../os/program.ts";
import { canNotify } from "../../os/service_notify.ts";
import { sessionDirs } from "../../os/session_dirs.ts";
import {
  isCurrent,
  isForHome,
  requireForHome,
  staleHint,
  unitBinary,
  unitEnvironment,
} from "./program.ts";
import { START_TIMEOUT_S, STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";
import type { InstalledService, Service, ServiceOptions, ServiceStatus } from "./service.ts";
import { readSystemdUnit, systemdUnit } from "./systemd_unit.ts";

const UNIT = "svc.service";
/** Longer than the unit's own deadlines. */
const START_MS = (START_TIMEOUT_S + 10) * 1_000;
const STOP_MS = (STOP_GRACE_S + STOP_MARGIN_S + 10) * 1_000;

export class SystemdService implements Service {
  readonly kind = "systemd";
  readonly #options: ServiceOptions;
  readonly #path: string;

  /** @param user_home an absolute path */
  constructor(options: ServiceOptions, user_home: string) {
    this.#options = options;
    const config = options.env("XDG_CONFIG_HOME") ?? join(user_home, ".config");
    this.#path = join(config, "systemd", "user", UNIT);
  }

  async status(): Promise<ServiceStatus> {
    const { paths, env } = this.#options;
    const text = await readTextIfAny(this.#path);
    const shown = await this.#show();
    if (text === undefined) {
      return shown === undefined
        ? {
          installed: false,
          kind: "none",
          current: false,
          hint: "cannot reach the systemd of this user",
        }
        : { installed: false, kind: this.kind, current: false };
    }
    const unit = readSystemdUnit(text);
    const current = isCurrent(unit, env, paths);
    return {
      installed: true,
      kind: this.kind,
      unit_path: this.#path,
      ...shown,
      program: unit.program,
      current,
      hint: current ? await this.#lingerHint() : staleHint(unit, env),
    };
  }

  async isInstalled(): Promise<boolean> {
    const text = await readTextIfAny(this.#path);
    return text !== undefined && isForHome(readSystemdUnit(text), this.#options.env);
  }

  async install(): Promise<InstalledService> {
    const { paths, env } = this.#options;
    if (await this.#show() === undefined) {
      throw new SvcError("not_found", "cannot reach the systemd of this user", {
        hint: "log in as this user, not through su or sudo; without systemd, as in a " +
          "container, start `svc serve` with the tool that starts programs there",
      });
    }
    const before = await readTextIfAny(this.#path);
    if (before !== undefined) requireForHome(readSystemdUnit(before), env);
    const program = unitBinary(paths);
    requireRunnable(program);
    const written = systemdUnit({
      program,
      environment: unitEnvironment(env),
      notifies: canNotify(),
    });
    const changed = written !== before;
    if (changed) {
      await Deno.mkdir(dirname(this.#path), { recursive: true });
      await atomicWrite(this.#path, written, 0o644);
    }
    // Always: an earlier installation may have been killed halfway.
    await this.#manage(["daemon-reload"]);
    await this.#manage(["enable", UNIT]);
    return { written, unit_path: this.#path, changed };
  }

  async remove({ stop }: { stop: boolean }): Promise<void> {
    const text = await readTextIfAny(this.#path);
    if (text === undefined) return;
    requireForHome(readSystemdUnit(text), this.#options.env);
    if (stop) await this.#manage(["stop", UNIT], STOP_MS);
    await this.#manage(["disable", UNIT]);
    await Deno.remove(this.#path);
    await this.#manage(["daemon-reload"]);
  }

  async start(): Promise<void> {
    // An explicit start resets the count of failures, which limits only systemd's own restarts.
    await this.#systemctl(["reset-failed", UNIT]);
    await this.#manage(["start", UNIT], START_MS);
  }

  async restart(): Promise<void> {
    await this.#systemctl(["reset-failed", UNIT]);
    await this.#manage(["restart", UNIT], STOP_MS + START_MS);
  }

  /** Undefined if systemd does not answer. */
  async #show(): Promise<Pick<ServiceStatus, "enabled" | "running" | "pid"> | undefined> {
    const properties = "UnitFileState,MainPID";
    const shown = await this.#systemctl(["show", UNIT, `--property=${properties}`]);
    if (!shown?.success) return undefined;
    const values = new Map(
      shown.stdout.split("\n").map((line) => line.split("=", 2) as [string, string]),
    );
    const pid = Number(values.get("MainPID") ?? 0);
    return {
      enabled: values.get("UnitFileState") === "enabled",
      running: pid > 0,
      ...(pid > 0 ? { pid } : {}),
    };
  }

  /** @throws {SvcError} internal with systemctl's message */
  async #manage(args: string[], timeout_ms?: number): Promise<void> {
    const done = await this.#systemctl(args, timeout_ms);
    if (done?.success) return;
    const said = done === undefined ? "systemctl is not available" : done.stderr.split("\n")[0];
    throw new SvcError("internal", `systemctl --user ${args.join(" ")} failed: ${said}`, {
      hint: `\`journalctl --user -u ${UNIT}\` shows its log`,
    });
  }

  #systemctl(args: string[], timeout_ms?: number) {
    const writable = sessionDirs(this.#options.paths.index);
    const all = ["--user", "--no-ask-password", ...args];
    return runProgram("systemctl", all, writable, timeout_ms);
  }

  /** Without lingering, a user's units end with the last login. */
  async #lingerHint(): Promise<string | undefined> {
    const { uid, paths } = this.#options;
    const args = ["show-user", `${uid}`, "--property=Linger"];
    const shown = await runProgram("loginctl", args, sessionDirs(paths.index));
    return shown?.stdout === "Linger=no"
      ? "`loginctl enable-linger` keeps it running while you are logged out"
      : undefined;
  }
}

/** Characters that systemd refuses in a program's path, even quoted. */
const UNSAFE = /["'\\\p{Cc}]/u;

/** @throws {SvcError} conflict for a program that systemd cannot run */
function requireRunnable(program: string): void {
  if (!UNSAFE.test(program)) return;
  throw new SvcError(
    "conflict",
    `systemd cannot run a program with quotes in its path: ${program}`,
    {
      hint: "move the binary to another directory",
    },
  );
}
