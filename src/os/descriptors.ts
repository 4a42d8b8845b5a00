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
const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
/** No descriptor has a higher number, also where the limit is infinite. */
const MAX_NUMBER = 2n ** 31n - 1n;
const RLIMIT_NOFILE = 7;
const RLIMIT_NOFILE_DARWIN = 8;
/** macOS refuses more than this whatever the hard limit says (OPEN_MAX). */
const DARWIN_MAX = 10_240n;

/** Few of them, for each takes half a millisecond of the start to open. */
const LINUX = {
  prlimit: { parameters: ["i32", "i32", "buffer", "buffer"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
const DARWIN = {
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type LinuxLibc = Deno.DynamicLibrary<typeof LINUX>["symbols"];

/** How soon it is done in a process that starts no other: after its first answers. */
const SOON_MS = 50;

/** The C library of a process that prepared its descriptors. */
let prepared: LinuxLibc | undefined;
/** Prepares them, in a process that is about to start its first. */
let prepare: (() => void) | undefined;

/**
 * Readies the descriptors of a process that starts others: keeps from them what it was started with
 * itself, and raises the number that may be open, as far as the system lets it. That is done soon,
 * and before {@linkcode requireDescriptors} returns, which costs next to nothing from then on.
 *
 * @returns what closes the C library.
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

/** Raises the soft limit, the first of the two, as far as the hard one allows; whether it did. */
function raised(limits: BigUint64Array, wanted: bigint): boolean {
  const [soft, hard] = limits;
  limits[0] = hard < wanted ? hard : wanted;
  return limits[0] > soft;
}

/**
 * A terminal or a service manager leaves files and sockets open beside the standard streams, and a
 * command in a sandbox could use them.
 */
function keepInherited({ fcntl }: LinuxLibc): void {
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    // The one that lists them is gone by now, and is refused.
    if (Number(name) > 2) fcntl(Number(name), F_SETFD, FD_CLOEXEC);
  }
}

/**
 * Makes sure that a process or a Worker can be started now.
 *
 * @param what is started, for the message
 * @throws {SvcError} unavailable when this process has too few descriptors left
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
 * Whether the highest numbers are all free. The kernel gives the lowest free number first, so that is
 * so as long as there are enough; where it is not, some below them may still be free.
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
