/** `svc desktop`: the web app in a window of its own, with a daemon found or brought. */
import { join } from "@std/path";
import type { DaemonHandle } from "../client/daemon_handle.ts";
import { ownProgram } from "../client/own_program.ts";
import { autostart } from "../desktop/autostart.ts";
import { type AppView, DesktopShell } from "../desktop/shell.ts";
import { AppWindow, profileDir } from "../desktop/window.ts";
import { findBrowser } from "../os/browsers.ts";
import { SvcError } from "../protocol/errors.ts";
import { ensurePrivateDir, exists } from "../os/files.ts";
import { openInBrowser } from "../os/open_url.ts";
import { ownDirs } from "../os/own_programs.ts";
import type { HomePaths } from "../os/paths.ts";
import { sessionDirs } from "../os/session_dirs.ts";
import { parseFlags, UsageError } from "./args.ts";
import { env, ownPaths } from "./environment.ts";
import { visible } from "../base/visible.ts";

const HELP =
  `Opens the app in a window of its own. Takes the daemon that runs, else brings one, which goes when
the window is closed; its sessions are there again the next time.

Usage: svc desktop
       svc desktop --start-at-login on|off|status [--json]

  --start-at-login   whether the window opens when you log in; the daemon's own service is
                     independent of it

The window is one of Chromium, Chrome, Edge or Brave (SVC_CHROMIUM names another one), with a profile
of its own; without any of them the app opens in your browser.`;

/** Runs `svc desktop`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, string, rest } = parseFlags(argv, {
    boolean: ["json"],
    string: ["start-at-login"],
  });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`svc desktop takes no argument "${rest[0]}"`);
  const wanted = string["start-at-login"];
  if (wanted !== undefined) return await startAtLogin(wanted, boolean.json ?? false);
  if (boolean.json) throw new UsageError("--json goes with --start-at-login");
  requireDisplay();
  await openDesktop(ownPaths());
  return 0;
}

/** A browser without a display ends with a line that says nothing of it. @throws {SvcError} not_found. */
function requireDisplay(): void {
  if (Deno.build.os !== "linux" || env("DISPLAY") || env("WAYLAND_DISPLAY")) return;
  throw new SvcError("not_found", "there is no display: DISPLAY and WAYLAND_DISPLAY are not set", {
    hint: "`svc open --print` tells where the app is, `svc chat` works in a terminal",
  });
}

async function startAtLogin(wanted: string, json: boolean): Promise<number> {
  const { command, first_args } = ownProgram();
  const setting = autostart({ env, argv: [command, ...first_args, "desktop"] });
  if (wanted === "on") await setting.enable();
  else if (wanted === "off") await setting.disable();
  else if (wanted !== "status") {
    throw new UsageError(`--start-at-login takes on, off or status, got "${wanted}"`);
  }
  const enabled = await setting.enabled();
  if (json) console.log(JSON.stringify({ enabled, place: setting.place }, null, 2));
  else {console.log(
      `the desktop ${enabled ? "starts" : "does not start"} at login (${setting.place})`,
    );}
  return 0;
}

async function openDesktop(paths: HomePaths): Promise<void> {
  const tell = (text: string) => console.error(`svc: ${visible(text)}`);
  const asked = Promise.withResolvers<void>();
  const onSignal = () => asked.resolve();
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  try {
    const shell = new DesktopShell({
      discovery_path: paths.discovery,
      program: ownProgram(),
      open: (handle) => openApp(handle, paths, tell),
      asked: asked.promise,
      tell,
    });
    await shell.run();
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, onSignal);
  }
}

/** Shows the app of a daemon, with the wizard where it is the first that was brought. */
async function openApp(
  { url, mode }: DaemonHandle,
  paths: HomePaths,
  tell: (text: string) => void,
): Promise<AppView> {
  ensurePrivateDir(paths.desktop);
  const welcomed = join(paths.desktop, "welcomed");
  const first = mode === "sidecar" && !exists(welcomed);
  const address = first ? `${url}?welcome` : url;
  const view = await show(address, mode, paths, tell);
  if (first) Deno.writeTextFileSync(welcomed, "", { mode: 0o600 });
  return view;
}

async function show(
  url: string,
  mode: DaemonHandle["mode"],
  { desktop, index }: HomePaths,
  tell: (text: string) => void,
): Promise<AppView> {
  const writable = sessionDirs(index);
  const program = findBrowser(env, writable);
  if (program !== undefined) {
    const path = Deno.build.os === "windows" ? undefined : ownDirs(env("PATH"), writable).join(":");
    const profile = profileDir(program, desktop, env("HOME"));
    return new AppWindow(url, { program, path, profile });
  }
  if (!await openInBrowser(url, writable)) {
    throw new SvcError("not_found", "there is no browser to show the app in", {
      hint: "install Chromium, Chrome or Edge, or name one with SVC_CHROMIUM",
    });
  }
  const sidecar = mode === "sidecar";
  tell(`the app is open in your browser, at ${url}`);
  if (sidecar) tell("Ctrl-C here ends the bundled daemon");
  return {
    closed: sidecar ? new Promise(() => {}) : Promise.resolve(),
    show: async (url) => void await openInBrowser(url, sessionDirs(index)),
    close: () => Promise.resolve(),
  };
}
