/**
 * The desktop shell: finds or starts a daemon, and shows the app (product.md, Desktop sidecar
 * discovery).
 */
import { delay } from "@std/async";
import { type DaemonHandle, findDaemon, letGo, startSidecar } from "../client/daemon_handle.ts";
import { readDiscovery } from "../client/discovery.ts";
import type { Program } from "../client/own_program.ts";
import { messageOf } from "../protocol/errors.ts";

/** How often the discovery file is checked for a moved daemon. */
const LOOK_MS = 2_000;
/** How long a successor may take after a sidecar stopped normally. */
const SUCCESSOR_MS = 3_000;
const SUCCESSOR_LOOK_MS = 100;
/** A sidecar that ends sooner counts as broken. */
const SHORT_LIFE_MS = 10_000;
const SHORT_LIVES_MAX = 3;

export interface AppView {
  /** Resolves when the person closes it. */
  closed: Promise<void>;
  /** Shows the app at another address. */
  show(url: string): Promise<void>;
  close(): Promise<void>;
}

interface ShellOptions {
  /** The path of `daemon.json`. */
  discovery_path: string;
  /** The bundled daemon. */
  program: Program;
  /** Shows the app of a daemon. */
  open(handle: DaemonHandle): AppView | Promise<AppView>;
  /** Resolves when the person quits without closing the window. */
  asked: Promise<void>;
  /** Shows a notice. */
  tell(text: string): void;
}

/** Why the shell stops waiting. */
type Change = "closed" | "asked" | "lost" | "moved";

export class DesktopShell {
  readonly #options: ShellOptions;
  #handle: DaemonHandle | undefined;
  /** The monotonic time in milliseconds at which the current daemon was taken up. */
  #since = 0;
  #short_lives = 0;

  constructor(options: ShellOptions) {
    this.#options = options;
  }

  /**
   * Runs until the app is closed.
   * @throws {SvcError} when no daemon starts, or the app cannot be shown
   */
  async run(): Promise<void> {
    const { open } = this.#options;
    const handle = await this.#findOrBring();
    this.#handle = handle;
    this.#since = performance.now();
    try {
      const view = await open(handle);
      try {
        for (;;) {
          const change = await this.#nextChange(view);
          if (change === "closed" || change === "asked") return;
          await (change === "lost" ? this.#replace(view) : this.#follow(view));
        }
      } finally {
        await view.close();
      }
    } finally {
      await letGo(this.#handle);
    }
  }

  async #findOrBring(): Promise<DaemonHandle> {
    const { discovery_path, program } = this.#options;
    const found = await findDaemon(discovery_path);
    if (found !== undefined) return found;
    try {
      return await startSidecar(program);
    } catch (error) {
      // Another client started a daemon first.
      const other = await findDaemon(discovery_path);
      if (other === undefined) throw error;
      return other;
    }
  }

  async #nextChange(view: AppView): Promise<Change> {
    const waiting = new AbortController();
    const { child } = this.#handle!;
    try {
      return await Promise.race<Change>([
        view.closed.then(() => "closed"),
        this.#options.asked.then(() => "asked"),
        child?.ended.then(() => "lost") ?? this.#moved(waiting.signal),
      ]);
    } finally {
      waiting.abort();
    }
  }

  /** Resolves when the discovery file names another daemon. */
  async #moved(signal: AbortSignal): Promise<Change> {
    for (;;) {
      await delay(LOOK_MS, { signal }).catch(() => {});
      if (signal.aborted) return "moved";
      const record = await readDiscovery(this.#options.discovery_path);
      if (record !== undefined && record.token !== this.#handle!.token) return "moved";
    }
  }

  /** Switches to the daemon in the discovery file. */
  async #follow(view: AppView): Promise<void> {
    const found = await findDaemon(this.#options.discovery_path);
    if (found !== undefined) await this.#takeUp(found, view);
  }

  /** Replaces a sidecar that ended: by its successor, or by a new one. */
  async #replace(view: AppView): Promise<void> {
    const { token, url, child } = this.#handle!;
    // Until then, nothing answers at this address.
    this.#handle = { mode: "external", url, token };
    const { success } = await child!.ended;
    const successor = await this.#successor(success ? SUCCESSOR_MS : 0);
    if (successor !== undefined) return await this.#takeUp(successor, view);
    const short = performance.now() - this.#since < SHORT_LIFE_MS;
    this.#short_lives = short ? this.#short_lives + 1 : 0;
    if (this.#short_lives >= SHORT_LIVES_MAX) {
      return this.#options.tell(
        "the bundled daemon ends again and again; `svc doctor` may say why",
      );
    }
    try {
      await this.#takeUp(await this.#findOrBring(), view);
    } catch (error) {
      this.#options.tell(messageOf(error));
    }
  }

  async #successor(patience_ms: number): Promise<DaemonHandle | undefined> {
    const until = performance.now() + patience_ms;
    for (;;) {
      const found = await findDaemon(this.#options.discovery_path);
      if (found !== undefined || performance.now() >= until) return found;
      await delay(SUCCESSOR_LOOK_MS);
    }
  }

  /** A page reconnects at the same address by itself; a new one must be shown. */
  async #takeUp(handle: DaemonHandle, view: AppView): Promise<void> {
    const moved = handle.url !== this.#handle!.url;
    this.#handle = handle;
    this.#since = performance.now();
    if (moved) await view.show(handle.url);
  }
}
