/** Finds the browsers of Chromium's family. */
import { join } from "@std/path";
import type { Env } from "./paths.ts";
import { isOwn } from "./own_programs.ts";
import { firstFile, pathDirs } from "./which.ts";

/** On the PATH, in the order of preference. */
const NAMES = [
  "chromium",
  "google-chrome-stable",
  "google-chrome",
  "microsoft-edge-stable",
  "microsoft-edge",
  "brave-browser",
  "chromium-browser",
];
const MAC_APPS = ["Chromium", "Google Chrome", "Microsoft Edge", "Brave Browser"];
const WINDOWS_APPS = [
  ["Google", "Chrome", "Application", "chrome.exe"],
  ["Microsoft", "Edge", "Application", "msedge.exe"],
  ["BraveSoftware", "Brave-Browser", "Application", "brave.exe"],
  ["Chromium", "Application", "chrome.exe"],
];
/** A service has a short PATH. */
const USUAL_DIRS = ["/usr/bin", "/usr/local/bin", "/snap/bin"];

/**
 * Returns a browser's program: from `SVC_CHROMIUM`, the PATH or a usual place.
 *
 * @param writable real paths that sessions can write; they are not searched
 */
export function findBrowser(
  env: Env,
  writable: readonly string[],
  os = Deno.build.os,
): string | undefined {
  const told = env("SVC_CHROMIUM");
  if (told !== undefined) return firstFile([told]);
  return browserPlaces(env, os).find((place) => isOwn(place, writable));
}

/** Returns where to look for it, best first. */
export function browserPlaces(env: Env, os: typeof Deno.build.os): string[] {
  if (os === "windows") {
    const roots = ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"].map(env);
    return WINDOWS_APPS.flatMap((app) =>
      roots.filter((root) => root !== undefined).map((root) => [root, ...app].join("\\"))
    );
  }
  const dirs = [...new Set([...pathDirs(env("PATH")), ...USUAL_DIRS])];
  const programs = NAMES.flatMap((name) => dirs.map((dir) => join(dir, name)));
  if (os !== "darwin") return programs;
  const apps = MAC_APPS.map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);
  return [...apps, ...programs];
}
