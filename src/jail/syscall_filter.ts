/**
 * The system calls that a command under bubblewrap may make, as a program for the kernel:
 * seccomp(2), "Filters". It is a second line of defence that reduces what an exploit of the kernel
 * could use.
 *
 * It refuses unusual address families (AF_VSOCK reaches the host past the network namespace),
 * io_uring, nested namespaces and mounts, the memory of other processes, the kernel's keyrings, and
 * everything that only root could do. To programs these calls are missing or not permitted.
 */

/** The names of a machine and the numbers of its system calls, from the kernel's `unistd.h`. */
interface Machine {
  /** AUDIT_ARCH_*: programs compiled for another architecture, such as i386, use other numbers. */
  audit_arch: number;
  /** Numbers from here on belong to the x32 ABI. */
  foreign_from?: number;
  socket: number;
  ioctl: number;
  clone: number;
  unshare: number;
  /** Answered with "not permitted". */
  refused: readonly number[];
}

/** Those with the same number everywhere: all since Linux 5.1. */
const REFUSED_SINCE_5_1 = [
  ...[428, 429, 430, 431, 432, 433, 442, 467], // open_tree, move_mount, fs*, mount_setattr
  438, // pidfd_getfd
  443, // quotactl_fd
];
/**
 * io_uring_setup, io_uring_enter, io_uring_register; and clone3, whose flags a filter cannot read.
 */
const MISSING = [425, 426, 427, 435];

const MACHINES: Partial<Record<typeof Deno.build.arch, Machine>> = {
  x86_64: {
    audit_arch: 0xc000003e,
    foreign_from: 0x40000000,
    socket: 41,
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
  },
  aarch64: {
    audit_arch: 0xc00000b7,
    socket: 198,
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
  },
};

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const FAMILIES = [1, 2, 10, 16];
/** TIOCSTI types into the person's terminal, TIOCLINUX pastes into it. */
const TERMINAL_TRICKS = [0x5412, 0x541c];
/** CLONE_NEW*: new namespaces, in which a command would be root. */
const NEW_NAMESPACES = 0x7e020000;
/** CLONE_NEWTIME, for `unshare` only: in `clone` these bits are part of a signal number. */
const NEW_TIME = 0x80;

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
/** Offsets in `struct seccomp_data`: the call's number, the machine, the low half of arguments. */
const NUMBER_AT = 0;
const MACHINE_AT = 4;
const argumentAt = (index: number) => 16 + 8 * index;

type Test = keyof typeof JUMP;

/** A program, written from top to bottom: each step returns or falls through to the next one. */
class Filter {
  readonly #steps: [code: number, if_true: number, if_false: number, value: number][] = [];

  load(offset: number): this {
    return this.#add(LOAD, 0, 0, offset);
  }

  returns(verdict: number): this {
    return this.#add(RETURN, 0, 0, verdict);
  }

  /** Returns the verdict when the test holds for the last loaded value. */
  returnIf(test: Test, value: number, verdict: number): this {
    return this.#add(JUMP[test], 0, 1, value).returns(verdict);
  }

  /** Runs the steps that `write` adds for one system call only; they must end with a return. */
  forCall(number: number, write: (inner: Filter) => void): this {
    const inner = new Filter();
    write(inner);
    this.#add(JUMP.equal, 0, inner.#steps.length, number);
    this.#steps.push(...inner.#steps);
    return this;
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
 * Builds the filter for bwrap's `--seccomp`.
 *
 * @returns `undefined` for an unknown machine
 */
export function syscallFilter(arch = Deno.build.arch): Uint8Array<ArrayBuffer> | undefined {
  const machine = MACHINES[arch];
  if (machine === undefined) return undefined;
  const { audit_arch, foreign_from, socket, ioctl, clone, unshare, refused } = machine;
  const filter = new Filter().load(MACHINE_AT);
  // Falls through for calls of the machine's own ABI.
  filter.forCall(audit_arch, (own) => {
    own.load(NUMBER_AT);
    if (foreign_from !== undefined) own.returnIf("at_least", foreign_from, KILL_PROCESS);
    for (const number of MISSING) own.returnIf("equal", number, errno(ENOSYS));
    for (const number of [...refused, ...REFUSED_SINCE_5_1]) {
      own.returnIf("equal", number, errno(EPERM));
    }
    own.forCall(socket, (call) => {
      call.load(argumentAt(0));
      for (const family of FAMILIES) call.returnIf("equal", family, ALLOW);
      call.returns(errno(EAFNOSUPPORT));
    });
    own.forCall(ioctl, (call) => {
      call.load(argumentAt(1));
      for (const request of TERMINAL_TRICKS) call.returnIf("equal", request, errno(EPERM));
      call.returns(ALLOW);
    });
    own.forCall(clone, (call) => {
      call.load(argumentAt(0)).returnIf("any_bit", NEW_NAMESPACES, errno(EPERM)).returns(ALLOW);
    });
    own.forCall(unshare, (call) => {
      call.load(argumentAt(0)).returnIf("any_bit", NEW_NAMESPACES | NEW_TIME, errno(EPERM))
        .returns(ALLOW);
    });
    own.returns(ALLOW);
  });
  return filter.returns(KILL_PROCESS).bytes();
}
