/**
 * The background unit on Windows: the service `svc.daemon`, which runs as the current user. Only an
 * administrator can create it, and Windows needs the account's password.
 */
import { delay } from "@std/async";
import { SvcError } from "../../protocol/errors.ts";
import { ownSid } from "../../os/windows/security.ts";
import {
  isCurrent,
  isForHome,
  requireForHome,
  staleHint,
  unitBinary,
  type UnitProgram,
} from "./program.ts";
import { STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";
import type { InstalledService, Service, ServiceOptions, ServiceStatus } from "./service.ts";
import { grantServiceLogon } from "./windows_logon.ts";
import { Scm, type ScmService } from "./windows_scm.ts";

/** Product.md. */
export const SERVICE_NAME = "svc.daemon";
const REGISTRY_KEY = `HKLM\\SYSTEM\\CurrentControlSet\\Services\\${SERVICE_NAME}`;
const STOP_MS = (STOP_GRACE_S + STOP_MARGIN_S) * 1_000;
const RESTART_MS = 1_000;
const RESET_S = 60;
const POLL_MS = 200;

export class WindowsService implements Service {
  readonly kind = "windows";
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  status(): Promise<ServiceStatus> {
    const { env, paths } = this.#options;
    const service = query();
    if (service === undefined) return Promise.resolve(this.#absent());
    if (!this.#isOwn(service)) {
      const hint = `the service ${SERVICE_NAME} on this machine belongs to ${service.account}`;
      return Promise.resolve({ ...this.#absent(), hint });
    }
    const unit = programOf(service);
    const current = isCurrent(unit, env, paths);
    return Promise.resolve({
      installed: true,
      kind: this.kind,
      unit_path: REGISTRY_KEY,
      enabled: service.automatic,
      running: service.running,
      pid: service.pid,
      program: unit.program,
      current,
      hint: current ? undefined : staleHint(unit, env),
    });
  }

  isInstalled(): Promise<boolean> {
    const service = query();
    return Promise.resolve(
      service !== undefined && this.#isOwn(service) &&
        isForHome(programOf(service), this.#options.env),
    );
  }

  // deno-lint-ignore require-await -- what it throws is a rejection, as on the other systems
  async install(): Promise<InstalledService> {
    const { env, paths } = this.#options;
    if (!isForHome({ environment: new Map() }, env)) {
      throw new SvcError("conflict", "a Windows service uses the environment of its account", {
        hint: "unset SVC_HOME and SVC_RUNTIME_DIR; the service uses .svc in the home directory",
      });
    }
    const before = query();
    if (before !== undefined) this.#requireOwn(before);
    const command = serviceCommand(unitBinary(paths));
    const changed = before?.command !== command;
    if (before === undefined) this.#create(command);
    else if (changed) manage("be changed", (scm) => scm.setCommand(command));
    const written = `service ${SERVICE_NAME}\ncommand ${command}\naccount ${this.#account()}\n` +
      "start   automatic, delayed\n";
    return { written, unit_path: REGISTRY_KEY, changed };
  }

  async remove({ stop }: { stop: boolean }): Promise<void> {
    const service = query();
    if (service === undefined) return;
    this.#requireOwn(service);
    requireForHome(programOf(service), this.#options.env);
    if (stop && service.running) {
      manage("be stopped", (scm) => scm.stop());
      for (const until = Date.now() + STOP_MS; query()?.running; await delay(POLL_MS)) {
        if (Date.now() > until) {
          throw new SvcError("internal", `the service ${SERVICE_NAME} did not stop`, {
            hint: `\`sc.exe queryex ${SERVICE_NAME}\` shows its process`,
          });
        }
      }
    }
    manage("be removed", (scm) => scm.delete());
  }

  start(): Promise<void> {
    if (!query()?.running) manage("be started", (scm) => scm.start());
    return Promise.resolve();
  }

  #create(command: string): void {
    const { askPassword } = this.#options;
    const account = this.#account();
    const password = askPassword?.(account);
    if (!password) {
      throw new SvcError("permission_denied", `Windows needs the password of ${account}`, {
        hint: "run `svc serve --install` in a terminal with administrator rights",
      });
    }
    const sid = ownSid();
    manage("be made", (scm) =>
      grantServiceLogon(sid) && scm.create({
        display_name: "svc",
        description: "Hosts the agent sessions of one user.",
        command,
        account,
        password,
        security: serviceSecurity(sid),
        preshutdown_ms: STOP_MS,
        restart_ms: RESTART_MS,
        reset_s: RESET_S,
      }));
  }

  #account(): string {
    const { env } = this.#options;
    return `${env("USERDOMAIN") ?? "."}\\${env("USERNAME") ?? ""}`;
  }

  /** A machine has only one service with a name. */
  #isOwn({ account }: ScmService): boolean {
    return account.toLowerCase() === this.#account().toLowerCase();
  }

  #requireOwn(service: ScmService): void {
    if (this.#isOwn(service)) return;
    throw new SvcError("conflict", `the service ${SERVICE_NAME} belongs to ${service.account}`, {
      hint:
        "a machine can have only one service with that name; start the daemon on demand instead",
    });
  }

  #absent(): ServiceStatus {
    return { installed: false, kind: this.kind, current: false };
  }
}

/** Returns the service's command line. */
export function serviceCommand(program: string): string {
  return `"${program}" serve --unit`;
}

/** Parses the command line of a service that svc created. */
export function programOf({ command }: Pick<ScmService, "command">): UnitProgram {
  const [, program] = command.match(/^"([^"]+)" serve --unit$/) ?? [];
  return { program, environment: new Map() };
}

/**
 * Returns the service's permissions. Its user can query, start, stop and remove it, but not change
 * it: it could then run as somebody else.
 */
export function serviceSecurity(sid: string): string {
  return "D:(A;;CCLCSWRPWPDTLOCRRC;;;SY)(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;BA)" +
    `(A;;CCLCSWLOCRRC;;;IU)(A;;CCLCSWRPWPLOSDRC;;;${sid})`;
}

function query(): ScmService | undefined {
  return withScm((scm) => scm.query());
}

/** @throws {SvcError} internal when Windows refuses */
function manage(what: string, action: (scm: Scm) => boolean): void {
  if (withScm(action)) return;
  throw new SvcError("internal", `the service ${SERVICE_NAME} could not ${what}`, {
    hint: "use a terminal with administrator rights; if the service does not start, the password " +
      "may have changed: `svc serve --uninstall`, then `svc serve --install`",
  });
}

function withScm<T>(use: (scm: Scm) => T): T {
  const scm = new Scm(SERVICE_NAME);
  try {
    return use(scm);
  } finally {
    scm.close();
  }
}
