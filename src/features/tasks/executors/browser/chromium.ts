/** A headless Chromium for one task: its own profile, no network except the task's proxy. */
// start-ok: Deno passes no pipes beside the standard ones; descriptors are looked for before
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { join } from "@std/path";
import { deadline } from "@std/async";
import type { Egress } from "../../../../net/egress.ts";
import { requireDescriptors } from "../../../../os/descriptors.ts";
import type { Env } from "../../../../os/paths.ts";
import { descendantsOf, killTree } from "../../../../os/process_tree.ts";
import { Cdp } from "./cdp.ts";

interface ChromiumOptions {
  program: string;
  /** The Debian wrapper starts programs itself. */
  path: string;
  proxy: Pick<Egress, "url" | "admit">;
  env: Env;
  /** The parent of its profile; after a crash, the daemon's next start removes it. */
  dir: string;
}

/** On a busy machine. */
const START_MS = 30_000;
const END_MS = 2_000;
/** Chromium creates a socket below TMPDIR, whose whole path is limited to 107 bytes. */
const TMPDIR_MAX = 60;

export class Chromium implements AsyncDisposable {
  readonly cdp: Cdp;
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #exited: Promise<unknown>;

  private constructor(child: ChildProcess, profile: string) {
    this.#child = child;
    this.#profile = profile;
    this.#exited = once(child, "exit");
    const [, , , to, from] = child.stdio as unknown as Duplex[];
    this.cdp = new Cdp(to, from);
    child.on("exit", () => this.cdp.end(new Error("Chromium has ended")));
  }

  /** Starts Chromium, which ends together with its pipes. @throws when it does not start. */
  static async start(options: ChromiumOptions): Promise<Chromium> {
    requireDescriptors("Chromium");
    const profile = await Deno.makeTempDir({ dir: options.dir, prefix: "browser-" });
    let chromium: Chromium | undefined;
    try {
      const child = spawn(options.program, switches(profile, options.proxy.url), {
        cwd: profile,
        detached: true,
        env: environment(options, profile),
        stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      });
      if (child.pid !== undefined) options.proxy.admit(child.pid);
      chromium = new Chromium(child, profile);
      const failed = once(child, "error").then(([error]) => Promise.reject(error));
      failed.catch(() => {});
      await deadline(Promise.race([chromium.cdp.call("Browser.getVersion"), failed]), START_MS);
      return chromium;
    } catch (cause) {
      await (chromium?.[Symbol.asyncDispose]() ?? removeDir(profile));
      throw new Error(`${options.program} did not start`, { cause });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this.#child;
    if (pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) {
      await killTree(pid, await descendantsOf(pid));
      await deadline(this.#exited, END_MS).catch(() => {});
    }
    for (const stream of this.#child.stdio) stream?.destroy();
    await removeDir(this.#profile);
  }
}

function switches(profile: string, proxy: string): string[] {
  return [
    "--headless=new",
    "--remote-debugging-pipe",
    `--user-data-dir=${profile}`,
    `--proxy-server=${proxy.replace("socks5h:", "socks5:")}`,
    // Even this machine's own names go through the proxy, and nothing is resolved before it.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    // UDP would bypass the proxy.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=DnsOverHttps,MediaRouter,OptimizationHints,Translate",
    "--disable-gpu",
    "--disable-client-side-phishing-detection",
    "--disable-sync",
    "--no-pings",
    "--no-service-autorun",
    "--metrics-recording-only",
    "--mute-audio",
    "--hide-scrollbars",
    "--password-store=basic",
    "--use-mock-keychain",
    "--window-size=1280,800",
    // Chromium's own sandbox does not work for root.
    ...(Deno.uid() === 0 ? ["--no-sandbox"] : []),
    "about:blank",
  ];
}

/** Returns the variables that it needs from the daemon's environment; its home is the profile. */
function environment(
  { env, path }: ChromiumOptions,
  profile: string,
): Record<string, string> {
  const values: Record<string, string> = {
    PATH: path,
    HOME: profile,
    TMPDIR: profile.length <= TMPDIR_MAX ? profile : env("TMPDIR") ?? "/tmp",
    XDG_CONFIG_HOME: join(profile, "config"),
    XDG_CACHE_HOME: join(profile, "cache"),
    // The Debian wrapper reads more switches from these.
    CHROMIUM_FLAGS: "",
  };
  for (const name of ["LANG", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE"]) {
    const value = env(name);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

async function removeDir(path: string): Promise<void> {
  // A process that is ending may still write a file.
  for (let tries = 0; tries < 5; tries++) {
    try {
      await Deno.remove(path, { recursive: true });
      return;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
