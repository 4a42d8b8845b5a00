/**
 * File descriptors of this process. Deno 2.7.11 panics, and takes every session down, when it finds
 * none for a new process or Worker: so the limit is raised at start, and what needs several at once
 * asks first.
 */
import { SvcError } from "../protocol/errors.ts";
import { openLibc } from "./libc.ts";

/**
 * The soft limit that is asked for, where the hard one allows it. Not higher: programs that we start
 * inherit it, and some close every number up to it one by one.
 */
const WANTED = 65_536n;
/** What a new process or Worker needs (8, measured), with room for what others open meanwhile. */
const NEEDED = 24;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const RLIMIT_NOFILE = Deno.build.os === "darwin" ? 8 : 7;
/** macOS refuses more than this whatever the hard limit says (OPEN_MAX). */
const DARWIN_MAX = 10_240n;

const SYMBOLS = {
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

/**
 * Readies the descriptors of a process that starts others: keeps from them what it was started with
 * itself, and raises the number that may be open, as far as the system lets it.
 */
export function prepareDescriptors(): void {
  const libc = openLibc(SYMBOLS);
  if (libc === undefined) return;
  keepInherited(libc);
  raiseLimit(libc);
  libc.close();
}

function raiseLimit(libc: Libc): void {
  const limits = new BigUint64Array(2);
  if (libc.symbols.getrlimit(RLIMIT_NOFILE, limits) === 0) {
    const [soft, hard] = limits;
    const wanted = Deno.build.os === "darwin" ? DARWIN_MAX : WANTED;
    limits[0] = hard < wanted ? hard : wanted;
    // One that is refused changes nothing.
    if (limits[0] > soft) libc.symbols.setrlimit(RLIMIT_NOFILE, limits);
  }
}

/**
 * A terminal or a service manager leaves files and sockets open beside the standard streams, and a
 * command in a sandbox could use them.
 */
function keepInherited(libc: Libc): void {
  // Elsewhere a call with a variable number of arguments cannot be made this way.
  if (Deno.build.os !== "linux") return;
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    // The one that lists them is gone by now, and is refused.
    if (Number(name) > 2) libc.symbols.fcntl(Number(name), F_SETFD, FD_CLOEXEC);
  }
}

/**
 * Makes sure that a process or a Worker can be started now.
 *
 * @param what is started, for the message
 * @throws {SvcError} unavailable when this process has too few descriptors left
 */
export function requireDescriptors(what: string): void {
  if (Deno.build.os === "windows") return;
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < NEEDED) opened.push(Deno.openSync("/dev/null"));
  } catch (cause) {
    throw new SvcError(
      "unavailable",
      `cannot start ${what}: svc has too few file descriptors left`,
      { cause, hint: "close some sessions or connections, or raise the limit (ulimit -n)" },
    );
  } finally {
    for (const file of opened) file.close();
  }
}
