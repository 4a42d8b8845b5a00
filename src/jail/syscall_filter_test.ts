import { assert, assertEquals } from "@std/assert";
import { syscallFilter } from "./syscall_filter.ts";

const X86_64 = 0xc000003e;
const AARCH64 = 0xc00000b7;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (number: number) => 0x00050000 | number;

/** What the kernel does with a call: the part of its BPF machine that the filter needs. */
function verdict(filter: Uint8Array, machine: number, number: number, args: number[] = []): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, machine, true);
  args.forEach((arg, n) => data.setUint32(16 + 8 * n, arg, true));
  const program = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  let loaded = 0;
  for (let at = 0; at < filter.length;) {
    const value = program.getUint32(at + 4, true);
    const jump = (holds: boolean) => 8 * (1 + program.getUint8(at + (holds ? 2 : 3)));
    switch (program.getUint16(at, true)) {
      case 0x20:
        loaded = data.getUint32(value, true);
        at += 8;
        break;
      case 0x06:
        return value;
      case 0x15:
        at += jump(loaded === value);
        break;
      case 0x35:
        at += jump(loaded >= value);
        break;
      case 0x45:
        at += jump((loaded & value) !== 0);
        break;
      default:
        throw new Error(`unknown instruction at ${at}`);
    }
  }
  throw new Error("it runs off its end");
}

Deno.test("ordinary calls pass, on both machines", () => {
  const x86 = syscallFilter("x86_64")!;
  const arm = syscallFilter("aarch64")!;
  // read, write, execve, futex, openat, seccomp, pidfd_open, memfd_create
  for (const number of [0, 1, 59, 202, 257, 317, 434, 319]) {
    assertEquals(verdict(x86, X86_64, number), ALLOW, `${number}`);
  }
  for (const number of [63, 64, 221, 98, 56, 277, 434, 279]) {
    assertEquals(verdict(arm, AARCH64, number), ALLOW, `${number}`);
  }
  // A thread, as the C library makes one, and a fork.
  for (const flags of [0x3d0f00, 0x1200011]) {
    assertEquals(verdict(x86, X86_64, 56, [flags]), ALLOW);
    assertEquals(verdict(arm, AARCH64, 220, [flags]), ALLOW);
  }
});

Deno.test("what a command has no use for is refused, on both machines", () => {
  const machines = [
    { filter: syscallFilter("x86_64")!, machine: X86_64, socket: 41, ioctl: 16, clone: 56 },
    { filter: syscallFilter("aarch64")!, machine: AARCH64, socket: 198, ioctl: 29, clone: 220 },
  ];
  for (const { filter, machine, socket, ioctl, clone } of machines) {
    for (const family of [1, 2, 10, 16]) {
      assertEquals(verdict(filter, machine, socket, [family]), ALLOW);
    }
    // AF_PACKET, AF_ALG, AF_VSOCK
    for (const family of [17, 38, 40]) {
      assertEquals(verdict(filter, machine, socket, [family]), errno(97));
    }
    assertEquals(verdict(filter, machine, ioctl, [0, 0x5413]), ALLOW);
    assertEquals(verdict(filter, machine, ioctl, [0, 0x5412]), errno(1));
    assertEquals(verdict(filter, machine, clone, [0x10000011]), errno(1));
    for (const missing of [425, 435]) {
      assertEquals(verdict(filter, machine, missing), errno(38));
    }
  }
  const [x86, arm] = machines;
  // ptrace, keyctl, bpf, mount, unshare of a user namespace
  for (const number of [101, 250, 321, 165]) {
    assertEquals(verdict(x86.filter, X86_64, number), errno(1));
  }
  assertEquals(verdict(x86.filter, X86_64, 272, [0x10000000]), errno(1));
  for (const number of [117, 219, 280, 40]) {
    assertEquals(verdict(arm.filter, AARCH64, number), errno(1));
  }
  assertEquals(verdict(arm.filter, AARCH64, 97, [0x10000000]), errno(1));
});

Deno.test("calls by the numbers of another machine end the program", () => {
  assertEquals(verdict(syscallFilter("x86_64")!, X86_64, 0x40000000 + 1), KILL);
  assertEquals(verdict(syscallFilter("x86_64")!, 0x40000003, 5), KILL);
  assertEquals(verdict(syscallFilter("aarch64")!, X86_64, 1), KILL);
  // A jump reaches 255 instructions.
  for (const arch of ["x86_64", "aarch64"] as const) assert(syscallFilter(arch)!.length < 8 * 250);
});

Deno.test("without namespaces of its own a command reaches no other program", () => {
  const off = { network: false, truncate: false, signals: false };
  const machines = [
    { arch: "x86_64", machine: X86_64, socket: 41, pair: 53, prlimit: 302, nice: 141, kill: 62 },
    {
      arch: "aarch64",
      machine: AARCH64,
      socket: 198,
      pair: 199,
      prlimit: 261,
      nice: 140,
      kill: 129,
    },
  ] as const;
  for (const { arch, machine, ...calls } of machines) {
    const ask = (shared: typeof off, number: number, args: number[] = []) =>
      verdict(syscallFilter(arch, shared)!, machine, number, args);
    const on = { ...off, network: true };
    for (const family of [1, 2, 10, 16]) {
      assertEquals(ask(off, calls.socket, [family]), errno(1));
      assertEquals(ask(on, calls.socket, [family]), family === 1 ? errno(1) : ALLOW);
    }
    for (const shared of [on, off]) assertEquals(ask(shared, calls.socket, [40]), errno(97));
    // A stream stays connected to its pair; a datagram socket, of which SOCK_RAW is one, does not.
    for (const type of [1, 5, 0x80001, 0x80805]) {
      assertEquals(ask(off, calls.pair, [1, type]), ALLOW);
      assertEquals(ask(off, calls.pair, [30, type]), errno(1), "another family");
    }
    for (const type of [2, 3, 0x80002, 0x803]) {
      assertEquals(ask(on, calls.pair, [1, type]), errno(1));
    }
    assertEquals(ask(off, calls.prlimit, [0, 7]), ALLOW);
    assertEquals(ask(off, calls.prlimit, [4711, 7]), errno(1));
    assertEquals(ask(off, calls.nice, [0, 0, 5]), ALLOW);
    for (const args of [[0, 4711], [1, 0], [2, 0]]) {
      assertEquals(ask(off, calls.nice, args), errno(1));
    }
    assertEquals(ask(off, calls.kill, [-1 >>> 0, 9]), ALLOW, "Landlock holds signals");
    assertEquals(ask({ ...off, signals: true }, calls.kill, [-1 >>> 0, 9]), errno(1));
    assertEquals(ask({ ...off, signals: true }, calls.kill, [4711, 9]), ALLOW);
  }
  // shmget, semop, msgsnd, mq_open, and truncate where Landlock does not hold it
  const x86 = syscallFilter("x86_64", { ...off, truncate: true })!;
  for (const number of [29, 65, 69, 240]) assertEquals(verdict(x86, X86_64, number), errno(38));
  assertEquals(verdict(x86, X86_64, 76), errno(1));
  const arm = syscallFilter("aarch64", { ...off, truncate: true })!;
  for (const number of [194, 193, 189, 180]) assertEquals(verdict(arm, AARCH64, number), errno(38));
  assertEquals(verdict(arm, AARCH64, 45), errno(1));
  // What bubblewrap's filter refuses stays refused.
  for (const number of [101, 165, 250, 321]) assertEquals(verdict(x86, X86_64, number), errno(1));
  assertEquals(verdict(x86, X86_64, 0x40000000 + 1), KILL);
  assertEquals(verdict(x86, 0x40000003, 5), KILL);
  assertEquals(verdict(x86, X86_64, 59), ALLOW);
});
