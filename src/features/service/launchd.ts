/** The background unit on macOS: the launchd agent `svc.daemon`; see launchctl(1). */
import { delay } from "@std/async";
import { dirname, join } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import { atomicWrite, ensurePrivateDir, readTextIfAny } from "../../os/files.ts";
import { type ProgramResult, runProgram } from "../../os/program.ts";
import { sessionDirs } from "../../os/session_dirs.ts";
import { LABEL, launchdPlist, readLaunchdPlist } from "./launchd_plist.ts";
import {
  isCurrent,
  isForHome,
  requireForHome,
  staleHint,
  unitBinary,
  unitEnvironment,
} from "./program.ts";
import { STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";
import type { InstalledService, Service, ServiceOptions, ServiceStatus } from "./service.ts";

const STOP_MS = (STOP_GRACE_S + STOP_MARGIN_S + 10) * 1_000;
const POLL_MS = 100;

/** Undefined without launchctl. */
export type Launchctl = (
  args: readonly string[],
  timeout_ms?: number,
) => Promise<ProgramResult | undefined>;

export class LaunchdService implements Service {
  readonly kind = "launchd";
  readonly #options: ServiceOptions;
  readonly #path: string;
  /** The user's graphical login. */
  readonly #domain: string;
  readonly #target: string;

  readonly #launchctl: Launchctl;

  /** @param user_home the absolute path of the user's home */
  constructor(options: ServiceOptions, user_home: string, launchctl?: Launchctl) {
    this.#options = options;
    this.#launchctl = launchctl ??
      ((args, timeout_ms) =>
        runProgram("launchctl", args, sessionDirs(options.paths.index), timeout_ms));
    this.#path = join(user_home, "Library", "LaunchAgents", `${LABEL}.plist`);
    this.#domain = `gui/${options.uid}`;
    this.#target = `${this.#domain}/${LABEL}`;
  }

  async status(): Promise<ServiceStatus> {
    const { paths, env } = this.#options;
    const text = await readTextIfAny(this.#path);
    if (text === undefined) return { installed: false, kind: this.kind, current: false };
    const unit = readLaunchdPlist(text);
    const loaded = await this.#loaded();
    const current = isCurrent(unit, env, paths);
    return {
      installed: true,
      kind: this.kind,
      unit_path: this.#path,
      // An agent is loaded at the next login.
      enabled: true,
      running: loaded?.pid !== undefined,
      pid: loaded?.pid,
      program: unit.program,
      current,
      hint: current ? undefined : staleHint(unit, env),
    };
  }

  async isInstalled(): Promise<boolean> {
    const text = await readTextIfAny(this.#path);
    return text !== undefined && isForHome(readLaunchdPlist(text), this.#options.env);
  }

  async install(): Promise<InstalledService> {
    const { paths, env } = this.#options;
    if (!(await this.#launchctl(["print", this.#domain]))?.success) {
      throw new SvcError("not_found", "cannot reach launchd of a graphical login", {
        hint: "log in once at the screen of this machine, then try again",
      });
    }
    const before = await readTextIfAny(this.#path);
    if (before !== undefined) requireForHome(readLaunchdPlist(before), env);
    const program = unitBinary(paths);
    const written = launchdPlist({
      program,
      environment: unitEnvironment(env),
      stderr_path: join(paths.log_dir, "launchd.log"),
    });
    const changed = written !== before;
    if (changed) {
      // launchd creates the file, but not its directory.
      ensurePrivateDir(paths.home);
      ensurePrivateDir(paths.log_dir);
      await Deno.mkdir(dirname(this.#path), { recursive: true });
      await atomicWrite(this.#path, written, 0o644);
    }
    return { written, unit_path: this.#path, changed };
  }

  async remove({ stop }: { stop: boolean }): Promise<void> {
    const text = await readTextIfAny(this.#path);
    if (text === undefined) return;
    requireForHome(readLaunchdPlist(text), this.#options.env);
    if (stop) await this.#unload();
    await Deno.remove(this.#path);
  }

  async start(): Promise<void> {
    const loaded = await this.#loaded();
    if (loaded?.pid !== undefined) return;
    // An older version may be loaded: launchd reads the file only when it loads it.
    if (loaded !== undefined) await this.#unload();
    await this.#manage(["enable", this.#target]);
    await this.#manage(["bootstrap", this.#domain, this.#path]);
  }

  /** Undefined if it is not loaded. */
  async #loaded(): Promise<{ pid?: number } | undefined> {
    const shown = await this.#launchctl(["print", this.#target]);
    if (!shown?.success) return undefined;
    const [, pid] = shown.stdout.match(/^\s*pid = (\d+)$/m) ?? [];
    return pid === undefined ? {} : { pid: Number(pid) };
  }

  /** Stops the agent gracefully and waits, because launchctl may return earlier. */
  async #unload(): Promise<void> {
    await this.#launchctl(["bootout", this.#target], STOP_MS);
    const until = Date.now() + STOP_MS;
    while (await this.#loaded() !== undefined) {
      if (Date.now() > until) {
        throw new SvcError("internal", `launchd did not stop ${LABEL}`, {
          hint: `\`launchctl print ${this.#target}\` shows its state`,
        });
      }
      await delay(POLL_MS);
    }
  }

  /** @throws {SvcError} internal with launchctl's message */
  async #manage(args: string[]): Promise<void> {
    const done = await this.#launchctl(args);
    if (done?.success) return;
    const said = done === undefined ? "launchctl is not available" : done.stderr.split("\n")[0];
    throw new SvcError("internal", `launchctl ${args.join(" ")} failed: ${said}`, {
      hint: `\`launchctl print ${this.#target}\` shows its state`,
    });
  }
}
