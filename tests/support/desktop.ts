/** The desktop shell on a display of its own (Xvfb), its window driven over Chromium's protocol. */
import { toText } from "@std/streams";
import { join } from "@std/path";
import { type DaemonHandle, startSidecar } from "../../src/client/daemon_handle.ts";
import { chromiumPath } from "./browser.ts";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";
import { firstLine } from "./processes.ts";
import { killKeepers } from "./port_keeper.ts";
import { processesWith, until } from "./scripted.ts";
import { can_run_svc, type Place, svcCommand } from "./svc.ts";

const XVFB = "/usr/bin/Xvfb";
const PATIENCE_MS = 60_000;

/** What tests of the desktop must be ignored for. */
export const no_display = !can_run_svc || chromiumPath() === undefined || !noted(hasXvfb(), "Xvfb");

function hasXvfb(): boolean {
  if (!granted("read")) return false;
  try {
    return Deno.statSync(XVFB).isFile;
  } catch {
    return false;
  }
}

/** Starts a sidecar of a place, as a desktop shell does. */
export async function sidecarAt(place: Place): Promise<DaemonHandle> {
  const [command, first_args] = svcCommand();
  Deno.mkdirSync(place.home, { recursive: true, mode: 0o700 });
  const env = Object.entries(place.env).map(([name, value]) => `${name}=${value}`);
  return await startSidecar({
    command: "/usr/bin/env",
    first_args: [...env, command, ...first_args],
  });
}

/** A display that nobody sees. */
export class Display implements AsyncDisposable {
  readonly name: string;
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, name: string) {
    this.#child = child;
    this.name = name;
  }

  static async open(): Promise<Display> {
    const child = new Deno.Command(XVFB, {
      args: ["-displayfd", "1", "-screen", "0", "1300x900x24", "-nolisten", "tcp"],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    // It chooses a free number, and says which when it is ready.
    const number = await firstLine(child);
    await child.stdout.cancel();
    return new Display(child, `:${number}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#child.status;
  }
}

/** A running `svc desktop`. */
export class Desktop implements AsyncDisposable {
  readonly place: Place;
  readonly child: Deno.ChildProcess;
  /** What it said, once it has ended. */
  readonly said: Promise<string>;
  readonly #status: Promise<Deno.CommandStatus>;
  readonly #windows: DesktopWindow[] = [];

  constructor(place: Place, display: Display) {
    this.place = place;
    const program = join(place.mkdir("bin"), "chromium");
    const script = `#!/bin/sh\nexec ${chromiumPath()} --remote-debugging-port=0 "$@"\n`;
    Deno.writeTextFileSync(program, script, { mode: 0o755 });
    const [command, first] = svcCommand();
    this.child = new Deno.Command(command, {
      args: [...first, "desktop"],
      env: { ...place.env, DISPLAY: display.name, SVC_CHROMIUM: program },
      clearEnv: true,
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.said = toText(this.child.stderr);
    this.#status = this.child.status;
  }

  /**
   * The window, once it shows something.
   *
   * @param address what its address begins with: a daemon at another port is shown in a window anew.
   */
  async window(address = ""): Promise<DesktopWindow> {
    const file = join(this.place.home, "desktop", "profile", "DevToolsActivePort");
    let target: string | undefined;
    await until(
      async () => (target = await pageTarget(file, address)) !== undefined,
      "the window",
      PATIENCE_MS,
    );
    const window = await DesktopWindow.connect(target!);
    this.#windows.push(window);
    return window;
  }

  /** Resolves with the exit code. */
  async ended(): Promise<number> {
    const { code } = await this.#status;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.child.kill("SIGTERM");
    } catch {
      // It has ended.
    }
    await this.ended();
    await this.said;
    for (const window of this.#windows) await window[Symbol.asyncDispose]();
    await killKeepers(this.place);
    // What a shell that was killed has left is still at work in the place.
    await until(() => processesWith(this.place.home).length === 0, "the browser's end");
  }
}

/** The page of the window, by Chromium's own protocol: playwright does not attach to it under Deno. */
export class DesktopWindow implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #closed: Promise<void>;
  readonly #calls = new Map<number, (message: CdpMessage) => void>();
  #next_id = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    const closed = Promise.withResolvers<void>();
    this.#closed = closed.promise;
    socket.onclose = () => {
      closed.resolve();
      for (const answer of this.#calls.values()) answer({ error: { message: "it is gone" } });
    };
    socket.onmessage = ({ data }) => {
      const message: CdpMessage = JSON.parse(data);
      this.#calls.get(message.id!)?.(message);
    };
  }

  static async connect(url: string): Promise<DesktopWindow> {
    const socket = new WebSocket(url);
    const opened = Promise.withResolvers<void>();
    socket.onopen = () => opened.resolve();
    socket.onerror = () => opened.reject(new Error(`${url} does not answer`));
    const window = new DesktopWindow(socket);
    await opened.promise;
    return window;
  }

  /** The value of an expression in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result } = await this.#call("Runtime.evaluate", options);
    return (result as { result: { value: T } }).result.value;
  }

  /** Resolves once a text is on the page. */
  async shows(text: string): Promise<void> {
    await this.#holds(`document.body.innerText.includes(${JSON.stringify(text)})`, text);
  }

  /** Clicks the button of that name. */
  async click(name: string): Promise<void> {
    const button = `[...document.querySelectorAll("button")]
      .find((it) => it.innerText.trim() === ${JSON.stringify(name)})`;
    await this.#holds(`${button} !== undefined`, name);
    await this.evaluate(`${button}.click()`);
  }

  async #holds(expression: string, what: string): Promise<void> {
    // A page that is on its way has no place yet where an expression could be evaluated.
    const holds = () => this.evaluate<boolean>(expression).catch(() => false);
    try {
      await until(holds, what, PATIENCE_MS);
    } catch (cause) {
      const there = "`${location.href}\\n${document.body.innerText}`";
      throw new Error(`${what} is not on the page: ${await this.evaluate(there)}`, { cause });
    }
  }

  /** Closes it, as a person does. */
  async close(): Promise<void> {
    await this.#call("Page.close");
    await this.#closed;
  }

  async #call(method: string, params: unknown = {}): Promise<CdpMessage> {
    const id = this.#next_id++;
    const { promise, resolve } = Promise.withResolvers<CdpMessage>();
    this.#calls.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const answer = await promise;
    this.#calls.delete(id);
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#closed;
  }
}

interface CdpMessage {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/** Where the page of the window is spoken to; `file` is what Chromium writes its port into. */
async function pageTarget(file: string, address: string): Promise<string | undefined> {
  try {
    const [, port] = Deno.readTextFileSync(file).match(/^(\d+)\n/)!;
    const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
    const shows = ({ type, url }: { type: string; url: string }) =>
      type === "page" && url.startsWith(address);
    return targets.find(shows)?.webSocketDebuggerUrl;
  } catch {
    return undefined;
  }
}
