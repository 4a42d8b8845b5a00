/**
 * Keeps a daemon's port for the next daemon of its home (Linux). A small process, `svc-port`, holds
 * it while no daemon listens. A record in the home names the process; a daemon that finds it alive
 * knows that nobody else had the port meanwhile.
 */
import { atomicWrite, exists } from "../os/files.ts";
import { KernelFiles } from "../os/kernel_files.ts";
import { startProgram } from "../os/start.ts";
import { requireDescriptors } from "../os/descriptors.ts";
import { type HeldPort, holdPort, portOf } from "./held_port.ts";
import type { PortStore } from "./port_store.ts";

/** How long the port is kept once the daemon is gone. */
const KEPT_S = 600;
const WHAT = "the keeper of the port";

/**
 * Waits for the end of the daemon, which has the pipe's other end. Then it stays as long as the
 * record names it, which the next daemon replaces.
 */
const KEEPER = `
read -r nothing
left=${KEPT_S}
while [ "$left" -gt 0 ] && read -r record <"$1"; do
  case $record in
    *'"keeper":'"$$,"*) ;;
    *) exit ;;
  esac
  sleep 1 || exit
  left=$((left - 1))
done
`;

interface PortRecord {
  port: number;
  /** The process that holds it, and when it was started, in the kernel's ticks. */
  keeper: number;
  started: string;
  /** What /proc/PID/fd says of the sockets. */
  sockets: string[];
}

/** A running keeper. */
export interface PortKeeper {
  /** Ends what tells it that the daemon is alive. */
  release(): Promise<void>;
}

/**
 * Starts a keeper of a port on which this process listens, and records it.
 *
 * @param path the record's
 * @returns undefined where the port cannot be held
 * @throws {SvcError} unavailable when too few descriptors are left
 * @throws the system's error for a record that cannot be written
 */
export async function keepPort(port: number, path: string): Promise<PortKeeper | undefined> {
  // First: it keeps from programs what is open by now.
  requireDescriptors(WHAT);
  using files = KernelFiles.open();
  const held = files && holdPort(port);
  if (held === undefined) return undefined;
  const { child, sockets } = startKeeper(held, path);
  child.unref();
  const started = startOf(files!, child.pid);
  if (started === undefined) return undefined;
  const record: PortRecord = { port, keeper: child.pid, started, sockets };
  await atomicWrite(path, `${JSON.stringify(record)}\n`, 0o600, { durable: false });
  return { release: () => child.stdin.abort().catch(() => {}) };
}

/**
 * Has a service manager hold a port on which this process listens.
 *
 * @param path of the record of a keeper, which is not needed then
 * @returns whether it does
 */
export function storePort(port: number, path: string, store: PortStore): boolean {
  const held = holdPort(port);
  if (held === undefined) return false;
  try {
    if (!store.store(held.descriptors)) return false;
  } finally {
    held[Symbol.dispose]();
  }
  if (exists(path)) Deno.removeSync(path);
  return true;
}

/** Returns the port of sockets that a service manager held; undefined if it is of no use. */
export function storedPort(descriptors: readonly number[]): number | undefined {
  const ports = new Set(descriptors.map(portOf));
  const [port] = ports;
  using files = KernelFiles.open();
  if (files === undefined || port === undefined || ports.size > 1) return undefined;
  return isListenedOn(files, port) ? undefined : port;
}

function startKeeper(held: HeldPort, path: string) {
  try {
    const sockets = held.descriptors.map((fd) => Deno.readLinkSync(`/proc/self/fd/${fd}`));
    const child = startProgram(WHAT, "/bin/sh", {
      args: ["-c", KEEPER, "svc-port", path],
      env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" },
      clearEnv: true,
      cwd: "/",
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      // Ctrl-C in the daemon's terminal is not for it.
      detached: true,
    });
    return { child, sockets };
  } finally {
    held[Symbol.dispose]();
  }
}

/** Returns the port that a keeper of ours holds by a record; undefined if nothing proves that. */
export function keptPort(path: string): number | undefined {
  using files = KernelFiles.open();
  const record = readRecord(path);
  if (files === undefined || record === undefined) return undefined;
  return isKept(files, record) && !isListenedOn(files, record.port) ? record.port : undefined;
}

function readRecord(path: string): PortRecord | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(path));
  } catch {
    return undefined;
  }
}

/** A socket stays bound as long as any process has it, and its number is used again only then. */
function isKept(files: KernelFiles, { keeper, started, sockets }: PortRecord): boolean {
  try {
    const dir = `/proc/${keeper}`;
    if (Deno.statSync(dir).uid !== Deno.uid() || startOf(files, keeper) !== started) return false;
    const open = new Set<string>();
    for (const { name } of Deno.readDirSync(`${dir}/fd`)) {
      open.add(Deno.readLinkSync(`${dir}/fd/${name}`));
    }
    return sockets.length > 0 && sockets.every((socket) => open.has(socket));
  } catch {
    return false;
  }
}

/** When a process was started, in ticks since the boot; undefined for none. */
function startOf(files: KernelFiles, pid: number): string | undefined {
  // The name, in parentheses, may contain anything.
  return files.read(`/proc/${pid}/stat`)?.replace(/^.*\) /s, "").split(" ")[19];
}

const LISTEN = "0A";

/** Whether anybody listens on a port, at any address. */
function isListenedOn(files: KernelFiles, port: number): boolean {
  const name = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return ["/proc/net/tcp", "/proc/net/tcp6"].some((table) =>
    (files.read(table) ?? "").split("\n").some((line) => {
      const [, local, , state] = line.trim().split(/\s+/);
      return state === LISTEN && local.endsWith(name);
    })
  );
}
