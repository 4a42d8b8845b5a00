/**
 * What attacks are made of. A {@linkcode Stage} is a victim with a daemon and, beside it, another
 * user; an attack ({@linkcode attacksBy}) is one try to get what the victim does not give, with a
 * control that shows that the same probe sees success where there is one.
 *
 * The daemon is the program under test: the binary of SVC_BIN, else the sources.
 */
import { assert } from "@std/assert";
import { delay } from "@std/async";
import { fromFileUrl, join } from "@std/path";
import { TextLineStream } from "@std/streams";
import { beforeTests } from "../support/before_tests.ts";
import { everyonesDirectory, forEveryone } from "../support/everyone.ts";
import { endProcess, firstLine } from "../support/processes.ts";
import { granted } from "../support/permissions.ts";
import { programPath } from "../support/programs.ts";
import { SEPARATOR, SUCCEEDED } from "../support/attack_count.ts";
import { hasLandlock } from "../support/landlock.ts";
import { has_ipv6 } from "../support/loopback.ts";
import { chromiumPath } from "../support/browser.ts";
import type { Answer } from "../support/model_servers.ts";
import { can_run_svc, Daemon, svcCommand, tests_binary } from "../support/svc.ts";
import { has_tmux } from "../support/tmux.ts";
import {
  has_two_users,
  killLater,
  people,
  peopleHave,
  type Ran,
  type RunOptions,
  type User,
} from "./users.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
export type Json = any;

/** What a probe brought home; undefined when it failed. */
export type Loot = string | undefined;

/** What only some machines have. */
export type Need =
  | "binary"
  | "second user"
  | "root"
  | "sandbox"
  | "landlock"
  | "browser"
  | "git"
  | "python"
  | "node"
  | "tmux"
  | "IPv6";

/** Why an attack with a need is left out on this machine; undefined where it is not. */
export const MISSING: Readonly<Record<Need, string | undefined>> = {
  binary: tests_binary ? undefined : "svc runs from source",
  "second user": has_two_users ? undefined : "only root on Linux can be two other users",
  root: granted("sys") && Deno.build.os === "linux" && Deno.uid() === 0
    ? undefined
    : "the daemon would not be root's",
  sandbox: programPath("bwrap") ? undefined : "no bubblewrap",
  landlock: hasLandlock() ? undefined : "no Landlock",
  browser: can_run_svc && chromiumPath() !== undefined ? undefined : "no Chromium",
  git: peopleHave("git") ? undefined : "no git",
  python: peopleHave("python3") ? undefined : "no Python",
  node: peopleHave("node") ? undefined : "no Node",
  IPv6: has_ipv6 ? undefined : "no IPv6",
  tmux: has_tmux ? undefined : "no tmux",
};

/** One try. */
export interface Attack {
  /** The same probe where it succeeds: done by the rightful owner, or to something weaker. */
  control: () => Loot | Promise<Loot>;
  /** The probe as the attacker's. It succeeds when it brings something home. */
  attempt: () => Loot | Promise<Loot>;
  needs?: readonly Need[];
}

/**
 * Who attacks in a file.
 *
 * @returns registers one attack: its control must bring something home, its attempt must not.
 */
export function attacksBy(attacker: string): (name: string, attack: Attack) => void {
  return (name, { control, attempt, needs = [] }) =>
    Deno.test({
      name: `${attacker}${SEPARATOR}${name}`,
      ignore: !can_run_svc || Deno.build.os === "windows" ||
        needs.some((need) => MISSING[need] !== undefined),
      async fn() {
        assert(await control(), "the control brought nothing home: the probe proves nothing");
        const loot = await attempt();
        assert(loot === undefined, `${SUCCEEDED}: ${loot}`);
      },
    });
}

/** Does something at its first call only: the control of several attacks. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => done ??= work();
}

/** The text, when something that must stay secret is in it. */
export function lootOf(text: string, ...secrets: string[]): Loot {
  return secrets.some((secret) => text.includes(secret)) ? text : undefined;
}

export interface StageOptions {
  /** What stands in daemon.toml. */
  toml?: string;
  /** What stands in policy.yaml. */
  policy?: string;
  /** More of the daemon's environment. */
  env?: Record<string, string>;
  /** After `svc serve`. */
  args?: string[];
  /** Whether a model server answers for `local/hostile`; see {@linkcode Stage.answers}. */
  hostile_model?: boolean;
  /** Whether the victim is the user who runs the tests, who may be root. */
  own_user?: boolean;
  /** A number under which the daemon is started with a file of the victim's open. */
  descriptor?: number;
  /** Puts into the homes what the daemon finds there. */
  prepare?: (stage: Stage) => void | Promise<void>;
  /** What the victim does before the first attack. */
  begin?: (stage: Stage) => void | Promise<void>;
}

/** What a tool gave. */
export interface ToolResult {
  tool: string;
  ok: boolean;
  output: string;
}

/** How a turn went. */
export interface Turn {
  stop_reason: string;
  message: string;
  tools: ToolResult[];
}

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const MODEL_SERVER = fromFileUrl(new URL("./hostile_model_main.ts", import.meta.url));

/** A victim with a daemon, and whoever is beside. */
export class Stage implements AsyncDisposable {
  /** Others may pass through it, as through `/home`. */
  readonly dir: string;
  readonly victim: User;
  readonly #attacker: User | undefined;
  /** SVC_HOME of the daemon. */
  readonly svc_home: string;
  /** A file of the victim's that no session has to do with, and what is in it. */
  readonly secret_file: string;
  readonly secret = `secret-${crypto.randomUUID()}`;
  daemon!: Daemon;
  readonly #options: StageOptions;
  readonly #program: [string, string[]];
  #model_server: Deno.ChildProcess | undefined;
  #daemons: Daemon[] = [];

  private constructor(options: StageOptions) {
    this.#options = options;
    this.dir = everyonesDirectory("svc-attack-");
    ({ victim: this.victim, attacker: this.#attacker } = people(this.dir, options.own_user));
    this.svc_home = join(this.victim.home, "svc");
    this.victim.mkdir(this.svc_home, 0o700);
    this.secret_file = this.victim.write(join(this.victim.home, "secret.txt"), this.secret);
    this.#program = this.#reachable();
  }

  /** Sets the stage and starts the daemon. */
  static async open(options: StageOptions = {}): Promise<Stage> {
    const stage = new Stage(options);
    try {
      let toml = options.toml ?? "";
      if (options.hostile_model === true) {
        const url = await stage.#startModel();
        toml = `[models.local]\nkind = "openai-compatible"\n` +
          `base_url = "${url}"\napi_key_env = "MODEL_KEY"\n${toml}`;
      }
      if (!/^\[cortex\]/m.test(toml)) toml = `[cortex]\ncurator = false\n${toml}`;
      stage.configure(toml);
      if (options.policy !== undefined) {
        stage.victim.write(join(stage.svc_home, "policy.yaml"), options.policy);
      }
      await options.prepare?.(stage);
      stage.daemon = await stage.serve(...options.args ?? []);
      await options.begin?.(stage);
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The second user. Only attacks that need one ask for it. */
  get attacker(): User {
    return this.#attacker!;
  }

  /** Writes daemon.toml. */
  configure(toml: string): void {
    this.victim.write(join(this.svc_home, "daemon.toml"), toml);
  }

  /** What the victim's `svc` is started with. */
  get env(): Record<string, string> {
    return { SVC_HOME: this.svc_home, MODEL_KEY: "sk-key", ...this.#options.env };
  }

  /** The program and first arguments of `svc`, as the victim can start it. */
  svcCommand(args: readonly string[]): [string, string[]] {
    const [program, first] = this.#program;
    return [program, [...first, ...args]];
  }

  /** `svc` where the victim can run it: a checkout in another person's home is closed to them. */
  #reachable(): [string, string[]] {
    const [program, args] = svcCommand();
    if (this.victim.ids === undefined) return [program, args];
    if (tests_binary) return [forEveryone(program), args];
    const root = join(forEveryone(ROOT, [".git", "dist"]), "/");
    const modules = forEveryone(Deno.env.get("DENO_DIR")!);
    const moved = args.map((arg) => arg.replace(ROOT, root));
    return ["/usr/bin/env", [`DENO_DIR=${modules}`, forEveryone(program), ...moved]];
  }

  /** A process of `svc` as the victim's; the caller ends it. Its standard error may go to a file. */
  spawn(
    args: readonly string[],
    options: Deno.CommandOptions = {},
    log?: string,
  ): Deno.ChildProcess {
    // Without a directory Deno takes its own, where the victim may not be.
    const { env = {}, cwd = "/", ...rest } = options;
    let [program, all] = this.svcCommand(args);
    if (log !== undefined) {
      rest.stderr = "null";
      const { descriptor } = this.#options;
      const opened = descriptor === undefined ? "" : ` ${descriptor}<"$0"`;
      all = ["-c", `exec 2>"$0"${opened}; exec "$@"`, log, program, ...all];
      program = "/bin/sh";
    }
    const store = Deno.env.get("DENO_TLS_CA_STORE");
    const whole = {
      cwd,
      ...rest,
      env: { ...this.env, ...(store ? { DENO_TLS_CA_STORE: store } : {}), ...env },
    };
    return this.victim.command(program, all, whole).spawn();
  }

  /** Starts a daemon of the victim's and waits until it listens. */
  async serve(...args: string[]): Promise<Daemon> {
    return await this.serveIn({}, ...args);
  }

  /** The same with more of an environment. @throws with what it said when it does not start. */
  async serveIn(env: Record<string, string>, ...args: string[]): Promise<Daemon> {
    // Its log goes to a file: a pipe would be read in the midst of attacks that began later.
    const log = this.victim.write(join(this.dir, `log-${this.#daemons.length}`), "");
    const child = this.spawn(["serve", "--emit-port-stdout", ...args], { env }, log);
    const line = await firstLine(child).catch(async () => {
      await child.status;
      throw new Error(`svc serve did not start: ${Deno.readTextFileSync(log)}`);
    });
    const daemon = new Daemon(child, Promise.resolve(""), JSON.parse(line));
    this.#daemons.push(daemon);
    return daemon;
  }

  /** Runs one `svc` command of the victim's to its end. */
  async svc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const { stdin, env, cwd, timeout_ms = 60_000 } = options;
    const child = this.spawn(args, {
      env,
      cwd,
      stdin: stdin === undefined ? "null" : "piped",
    });
    const timer = killLater(child, timeout_ms);
    if (stdin !== undefined) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(stdin)).catch(() => {});
      await writer.close().catch(() => {});
    }
    const { code, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  /** A directory of the victim's to work in. */
  workdir(name: string): string {
    return this.victim.mkdir(join(this.victim.home, name));
  }

  /** Calls a verb as the victim. @throws with the error's message. */
  async call(method: string, params: Json = {}): Promise<Json> {
    const { json } = await this.daemon.http("POST", "/v1/rpc", {
      jsonrpc: "2.0",
      id: 1,
      method,
      params,
    });
    if (json.error !== undefined) throw new Error(`${method}: ${json.error.message}`);
    return json.result;
  }

  /** Starts a session that asks nothing, of `builtin/toolbelt` unless told otherwise. */
  async session(workdir: string, params: Json = {}): Promise<string> {
    const all = { workdir, model: "builtin/toolbelt", approval: "auto", ...params };
    return (await this.call("session.start", all)).session_id;
  }

  /** Sends a message and follows its turn to the end. */
  async turn(session_id: string, text: string): Promise<Turn> {
    const { seq } = await this.call("session.send", { session_id, text });
    const turn: Turn = { stop_reason: "", message: "", tools: [] };
    for await (const { type, data } of this.events(session_id, seq)) {
      if (type === "session.tool_completed") {
        turn.tools.push({ tool: data.tool, ok: data.ok, output: String(data.output) });
      }
      if (type !== "turn.completed") continue;
      turn.stop_reason = data.stop_reason;
      turn.message = data.message ?? "";
      break;
    }
    return turn;
  }

  /** Runs instructions of `builtin/toolbelt`; the last one's output, and that of failures too. */
  async run(session_id: string, text: string): Promise<string> {
    const { tools, message } = await this.turn(session_id, text);
    return tools.map(({ output }) => output).join("\n") || message;
  }

  /** What is sent to a session of `local/hostile` for these answers, one after the other. */
  static answers(...answers: Answer[]): string {
    return JSON.stringify(answers);
  }

  /** Has the hostile model make these calls, all in one answer. */
  async calls(session_id: string, calls: NonNullable<Answer["calls"]>): Promise<Turn> {
    return await this.turn(session_id, Stage.answers({ calls }));
  }

  async #startModel(): Promise<string> {
    const config = join(ROOT, "deno.json");
    this.#model_server = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "--allow-all", `--config=${config}`, MODEL_SERVER],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    return JSON.parse(await firstLine(this.#model_server)).url;
  }

  /** The events of a session after `since_seq`, as they come. */
  async *events(session_id: string, since_seq = 0): AsyncGenerator<Json> {
    const stop = new AbortController();
    const path = `/v1/sessions/${session_id}/events?since_seq=${since_seq}`;
    const response = await fetch(`${this.daemon.url}${path}`, {
      headers: { authorization: `Bearer ${this.daemon.token}` },
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
    });
    try {
      const lines = response.body!.pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream());
      for await (const line of lines) {
        if (line.startsWith("data:")) yield JSON.parse(line.slice(5));
      }
    } finally {
      stop.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const daemon of this.#daemons) await daemon.kill();
    if (this.#model_server !== undefined) {
      await endProcess(this.#model_server, "SIGKILL");
      await this.#model_server.stdout.cancel();
    }
    // What a daemon has left behind may still be writing.
    for (let tries = 0;; tries++) {
      try {
        return Deno.removeSync(this.dir, { recursive: true });
      } catch (error) {
        if (tries === 20) throw error;
        await delay(100);
      }
    }
  }
}

/** A stage that the attacks of one file share: set before the first, struck after the last. */
export function sharedStage(options: StageOptions = {}): { readonly stage: Stage } {
  let stage: Stage | undefined;
  beforeTests(async () => {
    if (can_run_svc && Deno.build.os !== "windows") stage = await Stage.open(options);
  });
  Deno.test.afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
  });
  return {
    get stage() {
      return stage!;
    },
  };
}
