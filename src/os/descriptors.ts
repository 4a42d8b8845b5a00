/**
 * File descriptors of this process. Without a free one for a new process or Worker, Deno 2.7.11
 * panics and ends every session. So the limit is raised at start, and code that needs several asks
 * first.
 */
import { SvcError } from "../protocol/errors.ts";
import { openLibc } from "./libc.ts";

/**
 * The requested soft limit. Not higher: child processes inherit it, and some close every number up
 * to it one by one.
 */
const WANTED = 65_536n;
/** A new process or Worker needs 8 (measured); the rest is for what others open meanwhile. */
const NEEDED = 24;
const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
/** The highest number, even without a limit. */
const MAX_NUMBER = 2n ** 31n - 1n;
const RLIMIT_NOFILE = 7;
const RLIMIT_NOFILE_DARWIN = 8;
/** macOS refuses more, whatever the hard limit (OPEN_MAX). */
const DARWIN_MAX = 10_240n;

/** Opening each symbol takes half a millisecond of the start. */
const LINUX = {
  prlimit: { parameters: ["i32", "i32", "buffer", "buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
const DARWIN = {
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type LinuxLibc = Deno.DynamicLibrary<typeof LINUX>["symbols"];

/** Delay in a process that starts no other: after its first answers. */
const SOON_MS = 50;

/** Set once the descriptors are prepared. */
let prepared: LinuxLibc | undefined;
/** Set until then. */
let prepare: (() => void) | undefined;

/**
 * Prepares a process that starts others: closes inherited descriptors for them, and raises the
 * limit. Runs after a short delay, at the latest in {@linkcode requireDescriptors}.
 *
 * @returns what closes the C library
 */
export function prepareDescriptors(): Disposable {
  using cleanup = new DisposableStack();
  const own = () => {
    prepare = undefined;
    if (Deno.build.os === "darwin") raiseDarwinLimit();
    const libc = Deno.build.os === "linux" ? openLibc(LINUX) : undefined;
    if (libc === undefined) return;
    keepInherited(libc.symbols);
    raiseLimit(libc.symbols);
    prepared = libc.symbols;
    opened.defer(() => {
      if (prepared === libc.symbols) prepared = undefined;
      libc.close();
    });
  };
  prepare = own;
  const timer = setTimeout(() => prepare === own && own(), SOON_MS);
  cleanup.defer(() => {
    clearTimeout(timer);
    if (prepare === own) prepare = undefined;
  });
  const opened = cleanup.move();
  return opened;
}

function raiseLimit({ prlimit }: LinuxLibc): void {
  const limits = new BigUint64Array(2);
  if (prlimit(0, RLIMIT_NOFILE, null, limits) !== 0) return;
  if (raised(limits, WANTED)) prlimit(0, RLIMIT_NOFILE, limits, null);
}

function raiseDarwinLimit(): void {
  const libc = openLibc(DARWIN);
  if (libc === undefined) return;
  const { getrlimit, setrlimit } = libc.symbols;
  const limits = new BigUint64Array(2);
  if (getrlimit(RLIMIT_NOFILE_DARWIN, limits) === 0 && raised(limits, DARWIN_MAX)) {
    setrlimit(RLIMIT_NOFILE_DARWIN, limits);
  }
  libc.close();
}

/** Raises the soft limit (`limits[0]`) as far as the hard one allows. @returns whether it did */
function raised(limits: BigUint64Array, wanted: bigint): boolean {
  const [soft, hard] = limits;
  limits[0] = hard < wanted ? hard : wanted;
  return limits[0] > soft;
}

/**
 * Terminals and service managers leave files and sockets open, which a command in a sandbox could
 * use.
 */
function keepInherited({ fcntl }: LinuxLibc): void {
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    // The one that lists them is closed by now; setting its flag fails.
    if (Number(name) > 2) fcntl(Number(name), F_SETFD, FD_CLOEXEC);
  }
}

/**
 * Makes sure that a process or a Worker can be started now.
 *
 * @param what is started, for the message
 * @throws {SvcError} unavailable when too few descriptors are left
 */
export function requireDescriptors(what: string): void {
  prepare?.();
  if (Deno.build.os === "windows" || hasFreeTop()) return;
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

/**
 * Reports whether the highest numbers are free. The kernel gives out the lowest first, so then
 * enough are left. If not, lower ones may still be free.
 */
function hasFreeTop(): boolean {
  if (prepared === undefined) return false;
  const { prlimit, fcntl } = prepared;
  const limits = new BigUint64Array(2);
  if (prlimit(0, RLIMIT_NOFILE, null, limits) !== 0) return false;
  const soft = Number(limits[0] < MAX_NUMBER ? limits[0] : MAX_NUMBER);
  for (let number = soft - NEEDED; number < soft; number++) {
    if (fcntl(number, F_GETFD, 0) !== -1) return false;
  }
  return true;
}
