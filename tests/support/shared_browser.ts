/** One browser for all tests of a file, as to start one takes a third of a second of the processor. */
import type { ConnectOverCDPTransport } from "playwright-core";
import { beforeTests } from "./before_tests.ts";
import { ARGS, Browser, browserProgram, chromiumPath } from "./browser.ts";
import { endProcess, removeOnceStill } from "./processes.ts";
import { can_run_svc } from "./svc.ts";

/** What Playwright starts a browser with, as far as it changes what a page does or looks like. */
const PLAYWRIGHT_ARGS = [
  "--disable-back-forward-cache",
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-breakpad",
  "--disable-default-apps",
  "--disable-dev-shm-usage",
  "--disable-extensions",
  "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose," +
  "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,MediaRouter,PaintHolding," +
  "ThirdPartyStoragePartitioning,OptimizationHints,NetworkTimeServiceQuerying,PreconnectToSearch",
  "--disable-field-trial-config",
  "--disable-hang-monitor",
  "--disable-ipc-flooding-protection",
  "--disable-popup-blocking",
  "--disable-prompt-on-repost",
  "--disable-renderer-backgrounding",
  "--allow-pre-commit-input",
  "--force-color-profile=srgb",
  "--hide-scrollbars",
  "--metrics-recording-only",
  "--mute-audio",
  "--no-default-browser-check",
  "--no-service-autorun",
  "--password-store=basic",
  "--unsafely-disable-devtools-self-xss-warnings",
  "--enable-unsafe-swiftshader",
  "--use-mock-keychain",
  "--blink-settings=primaryHoverType=2,availableHoverTypes=2," +
  "primaryPointerType=4,availablePointerTypes=4",
];

/** A browser that the tests of one file share. */
export class SharedBrowser {
  #url = "";
  #dir = "";

  /** Starts it before the file's first test, where its tests run, and ends it after the last. */
  constructor() {
    let child: Deno.ChildProcess | undefined;
    beforeTests(async () => {
      if (!can_run_svc || chromiumPath() === undefined) return;
      this.#dir = Deno.makeTempDirSync({ prefix: "svc-browser-" });
      child = new Deno.Command(browserProgram(), {
        args: [
          ...PLAYWRIGHT_ARGS,
          ...ARGS,
          `--user-data-dir=${this.#dir}`,
          "--remote-debugging-port=0",
          "--no-startup-window",
        ],
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      this.#url = await listeningAt(child.stderr);
    });
    Deno.test.afterAll(async () => {
      if (this.#url !== "") await closed(new Connection(this.#url));
      if (child !== undefined) await endProcess(child, "SIGTERM");
      if (this.#dir !== "") await removeOnceStill(this.#dir);
    });
  }

  /** A profile for one test, with a connection that ends with it. */
  profile(): Promise<Browser> {
    return Browser.connect(new Connection(this.#url), this.#dir);
  }
}

/** Where a browser says that it listens. @throws {Error} with what it wrote, when it ends first. */
async function listeningAt(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const part of stderr.pipeThrough(new TextDecoderStream())) {
    text += part;
    const url = text.match(/^DevTools listening on (ws:\S+)\n/m)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`Chromium did not start: ${text}`);
}

/** Has a browser end with all its processes: the program that was started may be a script before it. */
async function closed(connection: Connection): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.onclose = () => resolve();
  connection.send({ id: 1, method: "Browser.close" });
  await promise;
}

/** Playwright's own way to a WebSocket needs of node:http what Deno does not have. */
class Connection implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  readonly #socket: WebSocket;
  readonly #open: Promise<void>;

  constructor(url: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = promise;
    this.#socket = new WebSocket(url);
    this.#socket.onopen = () => resolve();
    this.#socket.onmessage = ({ data }) => this.onmessage?.(JSON.parse(data));
    this.#socket.onclose = ({ reason }) => this.onclose?.(reason);
  }

  send(message: object): void {
    const text = JSON.stringify(message);
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
    else this.#open.then(() => this.#socket.send(text));
  }

  close(): void {
    this.#socket.close();
  }
}
