/** The load of a soak: sessions that are sent messages at a steady pace, and who watches them. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { messageOf } from "../../src/protocol/errors.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import type { Random } from "../support/random.ts";
import type { Daemon, Place, TestClient } from "../support/svc.ts";
import { Delays, type Sample } from "./series.ts";
import { compare, watch, watchAgain, type Watched } from "./watchers.ts";

export interface LoadOptions {
  daemon: Daemon;
  place: Place;
  random: Random;
  minutes: number;
  sessions: number;
  messages: number;
}

interface Working {
  /** Added to the numbers of its messages, so that not all sessions use tools at once. */
  offset: number;
  session_id: string;
  path: string;
  watched: Watched;
  /** Resolves the turn in flight. */
  turnDone: () => void;
}

const TURN_MAX_MS = 60_000;
const MB = 1024 * 1024;

export class Load {
  sent = 0;
  readonly #options: Readonly<Omit<LoadOptions, "daemon">>;
  #daemon: Daemon;
  readonly #problems: string[];
  readonly #all = new Delays();
  readonly #recent = new Delays();
  #sessions: Working[] = [];
  #client!: TestClient;
  /** Resolves when messages may be sent. */
  #open: Promise<void> = Promise.resolve();
  #turns = new Set<Promise<void>>();
  #started = performance.now();

  constructor(options: LoadOptions, problems: string[]) {
    this.#options = options;
    this.#daemon = options.daemon;
    this.#problems = problems;
  }

  /** Since the load began. */
  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  /** Makes the sessions and their watchers. */
  async open(): Promise<void> {
    const { place, sessions } = this.#options;
    this.#client = await this.#daemon.rpc();
    for (let n = 0; n < sessions; n++) {
      const workdir = place.mkdir(`project-${n}`);
      Deno.writeTextFileSync(join(workdir, "notes.txt"), `Notes of project ${n}.\n`.repeat(40));
      const { session_id } = await this.#client.rpc.call("session.start", {
        workdir,
        model: "soak/steady",
      });
      const watched = await watch(this.#daemon, session_id, [this.#all, this.#recent]);
      const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
      const working: Working = { offset: n, session_id, path, watched, turnDone: () => {} };
      watched.all[0].onEvent = (event) => this.#look(working, event);
      this.#sessions.push(working);
    }
  }

  #look(working: Working, { seq, type, data }: SessionEvent): void {
    if (type === "turn.completed") {
      if (data.stop_reason !== "ok") {
        this.#problems.push(
          `${working.path}:${seq}: a turn ended with ${data.stop_reason}: ${data.error}`,
        );
      }
      working.turnDone();
    } else if (type === "session.tool_completed" && !data.ok) {
      this.#problems.push(`${working.path}:${seq}: ${data.tool} failed: ${data.output}`);
    }
  }

  /** Sends all the messages; resolves when their turns have ended. */
  async run(stop: AbortSignal): Promise<void> {
    const { minutes, messages, random } = this.#options;
    const pace_s = minutes * 60 / messages;
    this.#started = performance.now();
    await Promise.all(this.#sessions.map(async (working) => {
      const phase = random.next();
      for (let n = 0; n < messages; n++) {
        // About evenly, but not in step with the other sessions.
        const at = (n + (phase + random.next() * 0.2) / 1.2) * pace_s;
        try {
          await delay(Math.max(0, at - this.seconds) * 1000, { signal: stop });
        } catch {
          return;
        }
        await this.#open;
        const turn = this.#turn(working, n + 1);
        this.#turns.add(turn);
        await turn;
        this.#turns.delete(turn);
      }
    }));
  }

  async #turn(working: Working, number: number): Promise<void> {
    const { offset, session_id, path } = working;
    const done = Promise.withResolvers<void>();
    working.turnDone = done.resolve;
    const late = setTimeout(
      () => done.reject(new Error(`no end of the turn in ${TURN_MAX_MS} ms`)),
      TURN_MAX_MS,
    );
    try {
      const text = `Message ${number + offset}`;
      const sending = this.#client.rpc.call("session.send", { session_id, text });
      await Promise.all([sending, done.promise]);
      this.sent++;
    } catch (error) {
      this.#problems.push(`${path}: message ${number}: ${messageOf(error)}`);
    } finally {
      clearTimeout(late);
    }
  }

  /**
   * Has another daemon take over: the turns in flight end, `restart` stops the old one and starts
   * the new one, all watchers go on behind the last event they had, then messages are sent again.
   */
  async restart(restart: (old: Daemon) => Promise<Daemon>): Promise<void> {
    const opened = Promise.withResolvers<void>();
    this.#open = opened.promise;
    try {
      await Promise.all(this.#turns);
      await this.close();
      this.#daemon = await restart(this.#daemon);
      this.#client = await this.#daemon.rpc();
      for (const { watched } of this.#sessions) await watchAgain(this.#daemon, watched);
    } finally {
      opened.resolve();
    }
  }

  /** Measures; the delays are those since the last time. */
  async sample(): Promise<Sample> {
    const seconds = Math.round(this.seconds * 10) / 10;
    const { heap_bytes } = await this.#client.rpc.call("daemon.info");
    const rounded = (bytes: number) => Math.round(bytes / MB * 100) / 100;
    const sample: Sample = {
      seconds,
      messages: this.sent,
      events: this.#recent.count,
      delay_p50_ms: this.#recent.percentile(0.5),
      delay_p99_ms: this.#recent.percentile(0.99),
      rss_mb: rounded(this.#daemon.rss()),
      heap_mb: rounded(heap_bytes),
      ...processOf(this.#daemon.pid),
    };
    this.#recent.clear();
    return sample;
  }

  /** The delays of all events in words. */
  delays(): string {
    const [p50, p99, most] = [0.5, 0.99, 1].map((share) => this.#all.percentile(share));
    return `p50 ${p50} ms, p99 ${p99} ms, most ${most} ms; ${this.#all.count} were received`;
  }

  /** Holds what the watchers saw against the journals. @returns how many events those have. */
  async check(): Promise<number> {
    let events = 0;
    for (const { path, watched } of this.#sessions) {
      const compared = await compare(path, watched);
      events += compared.events;
      this.#problems.push(...compared.problems);
    }
    return events;
  }

  async close(): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }
}

function processOf(pid: number): { fds: number; polls: number; threads: number } {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const found = { fds: 0, polls: 0, threads: Number(status.match(/Threads:\s+(\d+)/)![1]) };
  for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
    try {
      const target = Deno.readLinkSync(`/proc/${pid}/fd/${name}`);
      found[/^anon_inode:\[event(poll|fd)\]$/.test(target) ? "polls" : "fds"]++;
    } catch {
      // Closed meanwhile.
    }
  }
  return found;
}
