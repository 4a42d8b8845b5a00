/** `svc desktop`: the web app in its own window, with a running or a bundled daemon. */
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
import { sessionDirs } from "../os/session_dirs.ts";
import type { HomePaths } from "../os/paths.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { env, ownPaths } from "./environment.ts";
import type { DESKTOP } from "./table/chat.ts";
import { visible } from "../base/visible.ts";
import { named } from "./own_name.ts";

/** Runs `svc desktop`. */
export async function run({ flags }: Input<typeof DESKTOP>): Promise<number> {
  const wanted = flags["start-at-login"];
  if (wanted !== undefined) return await startAtLogin(wanted, flags.json);
  if (flags.json) throw new UsageError("--json requires --start-at-login");
  requireDisplay();
  await openDesktop(ownPaths());
  return 0;
}

/** Without a display, a browser fails with an unrelated error. @throws {SvcError} not_found. */
function requireDisplay(): void {
  if (Deno.build.os !== "linux" || env("DISPLAY") || env("WAYLAND_DISPLAY")) return;
  throw new SvcError("not_found", "no display: DISPLAY and WAYLAND_DISPLAY are not set", {
    hint: "`svc open --print` prints the address of the app; `svc chat` works in a terminal",
  });
}

async function startAtLogin(wanted: "on" | "off" | "status", json: boolean): Promise<number> {
  const { command, first_args } = ownProgram();
  const setting = autostart({ env, argv: [command, ...first_args, "desktop"] });
  if (wanted === "on") await setting.enable();
  else if (wanted === "off") await setting.disable();
  const enabled = await setting.enabled();
  if (json) console.log(JSON.stringify({ enabled, place: setting.place }, null, 2));
  else {console.log(
      `the desktop ${enabled ? "starts" : "does not start"} at login (${setting.place})`,
    );}
  return 0;
}

async function openDesktop(paths: HomePaths): Promise<void> {
  const tell = (text: string) => console.error(`svc: ${visible(named(text))}`);
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

/** Shows a daemon's app; the first bundled daemon is shown with the wizard. */
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
    throw new SvcError("not_found", "found no browser to show the app in", {
      hint: "install Chromium, Chrome or Edge, or set SVC_CHROMIUM to a browser",
    });
  }
  const sidecar = mode === "sidecar";
  tell(`the app is open in your browser, at ${url}`);
  if (sidecar) tell("press Ctrl-C here to stop the bundled daemon");
  return {
    closed: sidecar ? new Promise(() => {}) : Promise.resolve(),
    show: async (url) => void await openInBrowser(url, sessionDirs(index)),
    close: () => Promise.resolve(),
  };
}
