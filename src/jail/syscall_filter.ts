/**
 * The system calls that a command in a sandbox may make, as a program for the kernel: seccomp(2),
 * "Filters". Under bubblewrap it is a second line of defence against kernel exploits. Under
 * Landlock it also stands for the namespaces that are missing there.
 *
 * It refuses unusual address families (AF_VSOCK bypasses the network namespace), io_uring, nested
 * namespaces and mounts, other processes' memory, the kernel's keyrings, and everything that only
 * root could do. These calls seem missing or not permitted.
 */

/** System call numbers of a machine, from the kernel's `unistd.h`. */
interface Machine {
  /** AUDIT_ARCH_*: other architectures, such as i386, use other numbers. */
  audit_arch: number;
  /** Numbers from here on belong to the x32 ABI. */
  foreign_from?: number;
  socket: number;
  socketpair: number;
  truncate: number;
  kill: number;
  prlimit64: number;
  setpriority: number;
  ioprio_set: number;
  ioctl: number;
  clone: number;
  unshare: number;
  /** Answered with "not permitted". */
  refused: readonly number[];
  /** System V IPC and POSIX message queues, which everything on a machine shares. */
  ipc: readonly number[];
}

/** What a filter refuses besides, for a command that has the machine's own namespaces. */
export interface Shared {
  /** Whether it may have sockets of the internet. It never has Unix sockets that it can connect. */
  network: boolean;
  /** Whether to refuse truncate(2), which Landlock ignored before Linux 6.2. */
  truncate: boolean;
  /** Whether to refuse a signal to all processes, if Landlock does not hold signals. */
  signals: boolean;
}

/** Since Linux 5.1, numbers are the same everywhere. */
const REFUSED_SINCE_5_1 = [
  ...[428, 429, 430, 431, 432, 433, 442, 467], // open_tree, move_mount, fs*, mount_setattr
  438, // pidfd_getfd
  443, // quotactl_fd
];
/** io_uring_setup, io_uring_enter, io_uring_register; clone3, whose flags a filter cannot read. */
const MISSING = [425, 426, 427, 435];

const MACHINES: Partial<Record<typeof Deno.build.arch, Machine>> = {
  x86_64: {
    audit_arch: 0xc000003e,
    foreign_from: 0x40000000,
    socket: 41,
    socketpair: 53,
    truncate: 76,
    kill: 62,
    prlimit64: 302,
    setpriority: 141,
    ioprio_set: 251,
    ioctl: 16,
    clone: 56,
    unshare: 272,
    refused: [
      ...[101, 310, 311, 312], // ptrace, process_vm_readv, process_vm_writev, kcmp
      ...[248, 249, 250], // add_key, request_key, keyctl
      ...[321, 298, 323, 300], // bpf, perf_event_open, userfaultfd, fanotify_init
      ...[165, 166, 155, 161, 308], // mount, umount2, pivot_root, chroot, setns
      ...[304, 212], // open_by_handle_at, lookup_dcookie
      ...[175, 313, 176, 246, 320, 169], // modules, kexec, reboot
      ...[167, 168, 163, 179, 180, 103, 153], // swap, acct, quotactl, nfsservctl, syslog, vhangup
      ...[172, 173], // iopl, ioperm
    ],
    ipc: [
      ...[29, 30, 31, 67], // shmget, shmat, shmctl, shmdt
      ...[64, 65, 66, 220, 68, 69, 70, 71], // semaphores, messages
      ...[240, 241], // mq_open, mq_unlink
    ],
  },
  aarch64: {
    audit_arch: 0xc00000b7,
    socket: 198,
    socketpair: 199,
    truncate: 45,
    kill: 129,
    prlimit64: 261,
    setpriority: 140,
    ioprio_set: 30,
    ioctl: 29,
    clone: 220,
    unshare: 97,
    refused: [
      ...[117, 270, 271, 272],
      ...[217, 218, 219],
      ...[280, 241, 282, 262],
      ...[40, 39, 41, 51, 268],
      ...[265, 18],
      ...[105, 273, 106, 104, 294, 142],
      ...[224, 225, 89, 60, 42, 116, 58],
    ],
    ipc: [194, 196, 195, 197, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181],
  },
};

const AF_UNIX = 1;
/** AF_INET, AF_INET6, AF_NETLINK. */
const INTERNET = [2, 10, 16];
/**
 * SOCK_STREAM and SOCK_SEQPACKET, with SOCK_NONBLOCK and SOCK_CLOEXEC. A socket of a pair of these
 * stays connected to the other; a datagram socket could be connected again, or send elsewhere.
 */
const CONNECTED = [1, 5].flatMap((type) =>
  [0, 0x800].flatMap((flag) => [
    type | flag,
    type | flag | 0x80000,
  ])
);
/** TIOCSTI types into the person's terminal, TIOCLINUX pastes into it. */
const TERMINAL_TRICKS = [0x5412, 0x541c];
/** CLONE_NEW*: new namespaces, in which a command would be root. */
const NEW_NAMESPACES = 0x7e020000;
/** CLONE_NEWTIME, for `unshare` only: in `clone` these bits are part of a signal number. */
const NEW_TIME = 0x80;

const PRIO_PROCESS = 0;
const IOPRIO_WHO_PROCESS = 1;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const errno = (number: number) => 0x00050000 | number;

/** Instructions of classic BPF. */
const LOAD = 0x20;
const RETURN = 0x06;
const JUMP = { equal: 0x15, at_least: 0x35, any_bit: 0x45 } as const;
/** Offsets in `struct seccomp_data`: number, machine, low half of arguments. */
const NUMBER_AT = 0;
const MACHINE_AT = 4;
const argumentAt = (index: number) => 16 + 8 * index;

type Test = keyof typeof JUMP;

interface Part {
  from: number;
  filter: Filter;
}

/** A program from top to bottom: each step returns or falls through. */
class Filter {
  readonly #steps: [code: number, if_true: number, if_false: number, value: number][] = [];

  load(offset: number): this {
    return this.#add(LOAD, 0, 0, offset);
  }

  returns(verdict: number): this {
    return this.#add(RETURN, 0, 0, verdict);
  }

  returnIf(test: Test, value: number, verdict: number): this {
    return this.#add(JUMP[test], 0, 1, value).returns(verdict);
  }

  returnUnless(value: number, verdict: number): this {
    return this.#add(JUMP.equal, 1, 0, value).returns(verdict);
  }

  followedBy(inner: Filter): this {
    this.#steps.push(...inner.#steps);
    return this;
  }

  /**
   * Runs the last of the parts whose `from` is not above the last loaded value; each must end with
   * a return. Uses binary search, because the kernel runs a new filter for every number, twice for
   * each command.
   *
   * @param parts in rising order
   */
  choose(parts: readonly Part[]): this {
    if (parts.length === 1) {
      this.#steps.push(...parts[0].filter.#steps);
      return this;
    }
    const half = parts.length >> 1;
    const below = new Filter().choose(parts.slice(0, half));
    this.#add(JUMP.at_least, below.#steps.length, 0, parts[half].from);
    this.#steps.push(...below.#steps);
    return this.choose(parts.slice(half));
  }

  /** Encodes it as an array of `struct sock_filter`. Both machines are little-endian. */
  bytes(): Uint8Array<ArrayBuffer> {
    const view = new DataView(new ArrayBuffer(this.#steps.length * 8));
    this.#steps.forEach(([code, if_true, if_false, value], n) => {
      view.setUint16(n * 8, code, true);
      view.setUint8(n * 8 + 2, if_true);
      view.setUint8(n * 8 + 3, if_false);
      view.setUint32(n * 8 + 4, value, true);
    });
    return new Uint8Array(view.buffer);
  }

  #add(code: number, if_true: number, if_false: number, value: number): this {
    this.#steps.push([code, if_true, if_false, value]);
    return this;
  }
}

/**
 * Builds a filter; `undefined` for an unknown machine.
 *
 * @param shared for a command without namespaces of its own
 */
export function syscallFilter(
  arch = Deno.build.arch,
  shared?: Shared,
): Uint8Array<ArrayBuffer> | undefined {
  const machine = MACHINES[arch];
  if (machine === undefined) return undefined;
  const { audit_arch, foreign_from, socket, ioctl, clone, unshare, refused } = machine;
  const rules = new Map<number, Filter>();
  const [missing, forbidden] = [always(errno(ENOSYS)), always(errno(EPERM))];
  for (const number of MISSING) rules.set(number, missing);
  for (const number of [...refused, ...REFUSED_SINCE_5_1]) rules.set(number, forbidden);
  rules.set(socket, ofFamilies([AF_UNIX, ...INTERNET]));
  const requests = new Filter().load(argumentAt(1));
  for (const request of TERMINAL_TRICKS) requests.returnIf("equal", request, errno(EPERM));
  rules.set(ioctl, requests.returns(ALLOW));
  const withoutBits = (bits: number) =>
    new Filter().load(argumentAt(0)).returnIf("any_bit", bits, errno(EPERM)).returns(ALLOW);
  rules.set(clone, withoutBits(NEW_NAMESPACES));
  rules.set(unshare, withoutBits(NEW_NAMESPACES | NEW_TIME));
  if (shared !== undefined) refuseShared(rules, machine, shared, { missing, forbidden });
  const own = new Filter().load(NUMBER_AT).choose(partsOf(rules, foreign_from));
  return new Filter().load(MACHINE_AT).returnUnless(audit_arch, KILL_PROCESS).followedBy(own)
    .bytes();
}

function ofFamilies(allowed: readonly number[], forbidden: readonly number[] = []): Filter {
  const filter = new Filter().load(argumentAt(0));
  for (const family of allowed) filter.returnIf("equal", family, ALLOW);
  for (const family of forbidden) filter.returnIf("equal", family, errno(EPERM));
  return filter.returns(errno(EAFNOSUPPORT));
}

/** Refuses what reaches other programs of the machine past Landlock. */
function refuseShared(
  rules: Map<number, Filter>,
  { ipc, ...calls }: Machine,
  { network, truncate, signals }: Shared,
  { missing, forbidden }: { missing: Filter; forbidden: Filter },
): void {
  for (const number of ipc) rules.set(number, missing);
  const sockets = network
    ? ofFamilies(INTERNET, [AF_UNIX])
    : ofFamilies([], [AF_UNIX, ...INTERNET]);
  rules.set(calls.socket, sockets);
  const pair = new Filter().load(argumentAt(0)).returnUnless(AF_UNIX, errno(EPERM))
    .load(argumentAt(1));
  for (const type of CONNECTED) pair.returnIf("equal", type, ALLOW);
  rules.set(calls.socketpair, pair.returns(errno(EPERM)));
  if (truncate) rules.set(calls.truncate, forbidden);
  if (signals) {
    const everyone = new Filter().load(argumentAt(0)).returnIf("equal", -1 >>> 0, errno(EPERM));
    rules.set(calls.kill, everyone.returns(ALLOW));
  }
  // Limits and priorities of other processes.
  rules.set(calls.prlimit64, onlyWith([0]));
  rules.set(calls.setpriority, onlyWith([PRIO_PROCESS, 0]));
  rules.set(calls.ioprio_set, onlyWith([IOPRIO_WHO_PROCESS, 0]));
}

/** Allows a call whose first arguments are these: a 0 is the process itself. */
function onlyWith(values: readonly number[]): Filter {
  const filter = new Filter();
  values.forEach((value, n) => filter.load(argumentAt(n)).returnUnless(value, errno(EPERM)));
  return filter.returns(ALLOW);
}

function always(verdict: number): Filter {
  return new Filter().returns(verdict);
}

/** Orders the rules. Other numbers are allowed, up to `foreign_from`. */
function partsOf(rules: ReadonlyMap<number, Filter>, foreign_from?: number): Part[] {
  const allowed = always(ALLOW);
  const parts: Part[] = [{ from: 0, filter: allowed }];
  for (const [number, filter] of [...rules].sort(([a], [b]) => a - b)) {
    // Neighbours with the same rule become one part.
    if (parts.at(-1)!.from === number) parts.pop();
    if (parts.at(-1)?.filter !== filter) parts.push({ from: number, filter });
    parts.push({ from: number + 1, filter: allowed });
  }
  if (foreign_from !== undefined) parts.push({ from: foreign_from, filter: always(KILL_PROCESS) });
  return parts;
}
