/**
 * Whether the desktop starts at login, independent of the daemon (product.md, Desktop sidecar
 * discovery 7).
 */
import { dirname, join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { atomicWrite, exists } from "../os/files.ts";
import type { Env } from "../os/paths.ts";
import { runProgram } from "../os/program.ts";

interface Autostart {
  /** A file, or a registry key. */
  place: string;
  enabled(): Promise<boolean>;
  enable(): Promise<void>;
  /** Does nothing if it is not enabled. */
  disable(): Promise<void>;
}

interface AutostartOptions {
  env: Env;
  /** The command that starts the desktop. */
  argv: readonly string[];
  os?: typeof Deno.build.os;
}

/** @throws {SvcError} not_found when the person's home is unknown */
export function autostart({ env, argv, os = Deno.build.os }: AutostartOptions): Autostart {
  if (os === "windows") return runKey(argv);
  const home = env("HOME");
  if (home === undefined) throw new SvcError("not_found", "the home directory is unknown");
  if (os === "darwin") {
    const path = join(home, "Library", "LaunchAgents", "svc.desktop.plist");
    return inFile(path, () => launchAgent(argv));
  }
  const config = env("XDG_CONFIG_HOME") ?? join(home, ".config");
  return inFile(join(config, "autostart", "svc-desktop.desktop"), () => desktopEntry(argv));
}

function inFile(path: string, text: () => string | Promise<string>): Autostart {
  return {
    place: path,
    enabled: () => Promise.resolve(exists(path)),
    async enable() {
      await Deno.mkdir(dirname(path), { recursive: true });
      await atomicWrite(path, await text(), 0o644);
    },
    async disable() {
      if (exists(path)) await Deno.remove(path);
    },
  };
}

/** Returns an entry of the freedesktop.org Desktop Application Autostart Specification. */
export function desktopEntry(argv: readonly string[]): string {
  return `[Desktop Entry]
Type=Application
Name=svc
Comment=Agent sessions on this machine
Exec=${argv.map(quoteExec).join(" ")}
Terminal=false
X-GNOME-Autostart-enabled=true
`;
}

/** Quotes an argument (Desktop Entry Specification, The Exec key). */
function quoteExec(arg: string): string {
  // Quoted first, then escaped like any string; a % would start a field code.
  const quoted = `"${arg.replace(/["`$\\]/g, "\\$&")}"`;
  return quoted.replaceAll("\\", "\\\\").replaceAll("%", "%%");
}

/** Returns a launchd agent that runs once at login (launchd.plist(5)). */
export async function launchAgent(argv: readonly string[]): Promise<string> {
  const { build } = await import("plist");
  return `${
    build({
      Label: "svc.desktop",
      ProgramArguments: [...argv],
      RunAtLoad: true,
      ProcessType: "Interactive",
    })
  }\n`;
}

const RUN_KEY = "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run";
const RUN_NAME = "svc";

function runKey(argv: readonly string[]): Autostart {
  return {
    place: `${RUN_KEY}\\${RUN_NAME}`,
    enabled: async () =>
      (await runProgram("reg", ["query", RUN_KEY, "/v", RUN_NAME], []))?.success ?? false,
    async enable() {
      const value = commandLine(argv);
      const args = ["add", RUN_KEY, "/v", RUN_NAME, "/t", "REG_SZ", "/d", value, "/f"];
      const done = await runProgram("reg", args, []);
      if (done?.success) return;
      const reason = done?.stderr ?? "reg.exe is not there";
      throw new SvcError("internal", `the registry was not changed: ${reason}`);
    },
    async disable() {
      await runProgram("reg", ["delete", RUN_KEY, "/v", RUN_NAME, "/f"], []);
    },
  };
}

/** Quotes arguments for CommandLineToArgvW. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((arg) => `"${arg.replace(/(\\*)("|$)/g, "$1$1$2").replaceAll('"', '\\"')}"`)
    .join(" ");
}
