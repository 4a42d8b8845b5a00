/**
 * Writes small programs as ELF files without a library: a few system calls and jumps. For code
 * inside a sandbox, which can rely only on the system's own programs.
 */

/** Registers that a program keeps, beside the result of its last system call. */
export type Variable = "a" | "b" | "count" | "at" | "buffer";

/** An argument of a system call. */
export type Value = number | Variable | { data: string };

interface Machine {
  /** EM_* of the ELF header. */
  elf: number;
  calls: Readonly<Record<SystemCall, number>>;
  emit: Emitter;
}

/** The instructions of one processor. */
interface Emitter {
  /** Reserves the buffer on the stack, and saves the address of the arguments. */
  begin(buffer_bytes: number): number[];
  call(number: number, args: readonly (number | Variable)[]): number[];
  /** Executes the program's arguments, with its environment. */
  exec(number: number): number[];
  keep(into: Variable): number[];
  recall(from: Variable): number[];
  copy(into: Variable, from: Variable): number[];
  add(into: Variable): number[];
  subtract(from: Variable): number[];
  set(into: Variable, value: number): number[];
  /** Reads 64 bits of memory; `offset` is a multiple of 8, up to 120. */
  load(into: Variable, from: Variable, offset: number): number[];
  /** Adds a number up to 4095. */
  increase(into: Variable, amount: number): number[];
  /** Jumps `distance` bytes from the start of the instruction. */
  jump(when: When, distance: number): number[];
}

export type When = "always" | "negative" | "zero" | "not positive" | "positive";

const u32 = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);

// ── x86_64 ─────────────────────────────────────────────────────────────────────────────────────

/** rbx, rbp, r12 to r14; r9 and r15 keep the arguments. System calls preserve all of them. */
const X86: Readonly<Record<Variable, number>> = { a: 3, b: 5, count: 12, at: 13, buffer: 14 };
/** rdi, rsi, rdx, r10, r8 */
const X86_ARGUMENTS = [7, 6, 2, 10, 8];
const RAX = 0;

/** mov into, from (64 bits). */
function x86Move(into: number, from: number, opcode = 0x89): number[] {
  const rex = 0x48 | (from >= 8 ? 4 : 0) | (into >= 8 ? 1 : 0);
  return [rex, opcode, 0xc0 | ((from & 7) << 3) | (into & 7)];
}

/** mov into, value: zero-extended, so -1 is the largest 32-bit number. */
function x86Set(into: number, value: number): number[] {
  return [...(into >= 8 ? [0x41] : []), 0xb8 | (into & 7), ...u32(value)];
}

const x86: Emitter = {
  begin: (bytes) => [
    ...[0x4c, 0x8b, 0x3c, 0x24], // mov r15, [rsp]: the number of arguments
    ...[0x49, 0x89, 0xe1], // mov r9, rsp
    ...[0x48, 0x81, 0xec, ...u32(bytes)], // sub rsp, bytes
    ...[0x49, 0x89, 0xe6], // mov r14, rsp
  ],
  call: (number, args) => [
    ...args.flatMap((arg, n) =>
      typeof arg === "number" ? x86Set(X86_ARGUMENTS[n], arg) : x86Move(X86_ARGUMENTS[n], X86[arg])
    ),
    ...x86Set(RAX, number),
    ...[0x0f, 0x05], // syscall
  ],
  exec: (number) => [
    ...[0x49, 0x8b, 0x79, 0x10], // mov rdi, [r9 + 16]
    ...[0x49, 0x8d, 0x71, 0x10], // lea rsi, [r9 + 16]
    ...[0x4b, 0x8d, 0x54, 0xf9, 0x10], // lea rdx, [r9 + r15 * 8 + 16]
    ...x86Set(RAX, number),
    ...[0x0f, 0x05],
  ],
  keep: (into) => x86Move(X86[into], RAX),
  recall: (from) => x86Move(RAX, X86[from]),
  copy: (into, from) => x86Move(X86[into], X86[from]),
  add: (into) => x86Move(X86[into], RAX, 0x01),
  subtract: (from) => x86Move(X86[from], RAX, 0x29),
  set: (into, value) => x86Set(X86[into], value),
  load(into, from, offset) {
    const [to, base] = [X86[into], X86[from]];
    const rex = 0x48 | (to >= 8 ? 4 : 0) | (base >= 8 ? 1 : 0);
    // As a base, the number of rsp and r12 means that another byte follows.
    const indexed = (base & 7) === 4 ? [0x24] : [];
    return [rex, 0x8b, 0x40 | ((to & 7) << 3) | (base & 7), ...indexed, offset];
  },
  increase: (into, amount) => [
    ...[X86[into] >= 8 ? 0x49 : 0x48, 0x81, 0xc0 | (X86[into] & 7), ...u32(amount)],
  ],
  jump(when, distance) {
    if (when === "always") return [0xe9, ...u32(distance - 5)];
    const test = [0x48, 0x85, 0xc0]; // test rax, rax
    const code = { negative: 0x88, zero: 0x84, "not positive": 0x8e, positive: 0x8f }[when];
    return [...test, 0x0f, code, ...u32(distance - 9)];
  },
};

// ── aarch64 ────────────────────────────────────────────────────────────────────────────────────

/** x20 to x24; x19 keeps the initial stack pointer. */
const ARM: Readonly<Record<Variable, number>> = { a: 20, b: 21, count: 22, at: 23, buffer: 24 };

/** mov into, value: 32 bits in two halves. */
function armSet(into: number, value: number): number[] {
  const low = 0xd2800000 | ((value & 0xffff) << 5) | into; // movz
  const high = 0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | into; // movk, lsl 16
  return [...u32(low), ...u32(high)];
}

/** mov into, from */
const armMove = (into: number, from: number) => u32(0xaa0003e0 | (from << 16) | into);

const SVC = u32(0xd4000001);

const arm: Emitter = {
  begin: (bytes) => [
    ...u32(0x910003f3), // mov x19, sp
    ...u32(0xd1400000 | ((bytes >>> 12) << 10) | (31 << 5) | 31), // sub sp, sp, bytes (lsl 12)
    ...u32(0x910003f8), // mov x24, sp
  ],
  call: (number, args) => [
    ...args.flatMap((arg, n) => typeof arg === "number" ? armSet(n, arg) : armMove(n, ARM[arg])),
    ...armSet(8, number),
    ...SVC,
  ],
  exec: (number) => [
    ...u32(0xf9400a60), // ldr x0, [x19, 16]
    ...u32(0x91004261), // add x1, x19, 16
    ...u32(0xf9400263), // ldr x3, [x19]
    ...u32(0x8b030c22), // add x2, x1, x3, lsl 3
    ...armSet(8, number),
    ...SVC,
  ],
  keep: (into) => armMove(ARM[into], 0),
  recall: (from) => armMove(0, ARM[from]),
  copy: (into, from) => armMove(ARM[into], ARM[from]),
  add: (into) => u32(0x8b000000 | (ARM[into] << 5) | ARM[into]), // add into, into, x0
  subtract: (from) => u32(0xcb000000 | (ARM[from] << 5) | ARM[from]), // sub from, from, x0
  set: (into, value) => armSet(ARM[into], value),
  // ldr into, [from, offset]
  load: (into, from, offset) =>
    u32(0xf9400000 | ((offset / 8) << 10) | (ARM[from] << 5) | ARM[into]),
  // add into, into, amount
  increase: (into, amount) => u32(0x91000000 | (amount << 10) | (ARM[into] << 5) | ARM[into]),
  jump(when, distance) {
    if (when === "always") return u32(0x14000000 | ((distance >> 2) & 0x03ffffff)); // b
    const code = { negative: 0x4, zero: 0x0, "not positive": 0xd, positive: 0xc }[when];
    const over = ((distance - 4) >> 2) & 0x7ffff;
    return [...u32(0xf100001f), ...u32(0x54000000 | (over << 5) | code)]; // cmp x0, 0; b.cond
  },
};

const X86_CALLS = {
  read: 0,
  write: 1,
  close: 3,
  socket: 41,
  connect: 42,
  accept4: 288,
  shutdown: 48,
  setsockopt: 54,
  bind: 49,
  listen: 50,
  clone: 56,
  execve: 59,
  exit: 60,
  dup3: 292,
  setsid: 112,
  nanosleep: 35,
  rt_sigaction: 13,
  close_range: 436,
  prlimit64: 302,
  openat2: 437,
  landlock_create_ruleset: 444,
  landlock_add_rule: 445,
  landlock_restrict_self: 446,
  prctl: 157,
  capset: 126,
  seccomp: 317,
};

export type SystemCall = keyof typeof X86_CALLS;

const MACHINES: Partial<Record<typeof Deno.build.arch, Machine>> = {
  x86_64: {
    elf: 62,
    emit: x86,
    calls: X86_CALLS,
  },
  aarch64: {
    elf: 183,
    emit: arm,
    calls: {
      read: 63,
      write: 64,
      close: 57,
      socket: 198,
      connect: 203,
      accept4: 242,
      shutdown: 210,
      setsockopt: 208,
      bind: 200,
      listen: 201,
      clone: 220,
      execve: 221,
      exit: 93,
      dup3: 24,
      setsid: 157,
      nanosleep: 101,
      rt_sigaction: 134,
      close_range: 436,
      prlimit64: 261,
      openat2: 437,
      landlock_create_ruleset: 444,
      landlock_add_rule: 445,
      landlock_restrict_self: 446,
      prctl: 167,
      capset: 91,
      seccomp: 277,
    },
  },
};

/** Reports whether programs can be written for a machine. */
export function writesFor(arch: typeof Deno.build.arch): boolean {
  return MACHINES[arch] !== undefined;
}

/** Load address, header included. */
const BASE = 0x400000;
const HEADER_BYTES = 64 + 2 * 56;

type Step =
  | { kind: "bytes"; bytes: number[] }
  | { kind: "call"; call: SystemCall; args: readonly Value[] }
  | { kind: "set"; into: Variable; value: number | { data: string } }
  | { kind: "jump"; when: When; label: string }
  | { kind: "label"; name: string };

/** Where data holds the address of other data, as 64 bits. */
export interface Pointer {
  at: number;
  data: string;
  /** How far into that data it points. Default: 0. */
  offset?: number;
}

interface Data {
  name: string;
  bytes: Uint8Array;
  pointers: readonly Pointer[];
}

/** Builds a program step by step. */
export class Program {
  readonly #machine: Machine;
  readonly #steps: Step[] = [];
  readonly #data: Data[] = [];

  /** @param buffer_bytes size of `buffer`; a multiple of 4096 */
  constructor(arch: typeof Deno.build.arch, buffer_bytes: number) {
    const machine = MACHINES[arch];
    if (machine === undefined) throw new Error(`no programs are written for ${arch}`);
    this.#machine = machine;
    this.#bytes(machine.emit.begin(buffer_bytes));
  }

  data(name: string, bytes: Uint8Array, pointers: readonly Pointer[] = []): this {
    this.#data.push({ name, bytes, pointers });
    return this;
  }

  call(call: SystemCall, ...args: Value[]): this {
    this.#steps.push({ kind: "call", call, args });
    return this;
  }

  /** Executes the program that its first argument names, with the others as its arguments. */
  execArguments(): this {
    return this.#bytes(this.#machine.emit.exec(this.#machine.calls.execve));
  }

  keep(into: Variable): this {
    return this.#bytes(this.#machine.emit.keep(into));
  }

  /** Makes a variable the last result, for a jump. */
  recall(from: Variable): this {
    return this.#bytes(this.#machine.emit.recall(from));
  }

  copy(into: Variable, from: Variable): this {
    return this.#bytes(this.#machine.emit.copy(into, from));
  }

  add(into: Variable): this {
    return this.#bytes(this.#machine.emit.add(into));
  }

  subtract(from: Variable): this {
    return this.#bytes(this.#machine.emit.subtract(from));
  }

  /** Sets a variable to a number up to 32 bits, or to the address of data. */
  set(into: Variable, value: number | { data: string }): this {
    this.#steps.push({ kind: "set", into, value });
    return this;
  }

  /** Sets a variable to the 64 bits at an address that another one holds. */
  load(into: Variable, from: Variable, offset = 0): this {
    return this.#bytes(this.#machine.emit.load(into, from, offset));
  }

  increase(into: Variable, amount: number): this {
    return this.#bytes(this.#machine.emit.increase(into, amount));
  }

  /** Jumps to a label, always or if the last result matches. */
  jump(label: string, when: When = "always"): this {
    this.#steps.push({ kind: "jump", when, label });
    return this;
  }

  label(name: string): this {
    this.#steps.push({ kind: "label", name });
    return this;
  }

  /** Encodes the program as an ELF file. @throws {Error} for an undefined label or data name */
  elf(): Uint8Array<ArrayBuffer> {
    const sizes = this.#steps.map((step) => this.#encode(step, () => 0).length);
    const labels = new Map<string, number>();
    let at = HEADER_BYTES;
    this.#steps.forEach((step, n) => {
      if (step.kind === "label") labels.set(step.name, at);
      at += sizes[n];
    });
    const places = new Map<string, number>();
    for (const { name, bytes } of this.#data) {
      at = (at + 7) & ~7;
      places.set(name, at);
      at += bytes.length;
    }
    const file = new Uint8Array(at);
    file.set(this.#header(at));
    let here = HEADER_BYTES;
    this.#steps.forEach((step, n) => {
      const find = (name: string) => {
        const found = step.kind === "jump" ? labels.get(name) : places.get(name);
        if (found === undefined) throw new Error(`nothing is named ${name}`);
        return step.kind === "jump" ? found - here : BASE + found;
      };
      file.set(this.#encode(step, find), here);
      here += sizes[n];
    });
    const view = new DataView(file.buffer);
    for (const { name, bytes, pointers } of this.#data) {
      const place = places.get(name)!;
      file.set(bytes, place);
      for (const { at, data, offset = 0 } of pointers) {
        const target = places.get(data);
        if (target === undefined) throw new Error(`nothing is named ${data}`);
        view.setBigUint64(place + at, BigInt(BASE + target + offset), true);
      }
    }
    return file;
  }

  #encode(step: Step, find: (name: string) => number): number[] {
    const { emit, calls } = this.#machine;
    switch (step.kind) {
      case "bytes":
        return step.bytes;
      case "call": {
        const args = step.args.map((arg) => typeof arg === "object" ? find(arg.data) : arg);
        return emit.call(calls[step.call], args);
      }
      case "set":
        return emit.set(
          step.into,
          typeof step.value === "object" ? find(step.value.data) : step.value,
        );
      case "jump":
        return emit.jump(step.when, find(step.label));
      case "label":
        return [];
    }
  }

  #bytes(bytes: number[]): this {
    this.#steps.push({ kind: "bytes", bytes });
    return this;
  }

  #header(size: number): Uint8Array {
    const view = new DataView(new ArrayBuffer(HEADER_BYTES));
    const set64 = (at: number, value: number) => view.setBigUint64(at, BigInt(value), true);
    [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1].forEach((byte, n) => view.setUint8(n, byte));
    view.setUint16(16, 2, true); // ET_EXEC
    view.setUint16(18, this.#machine.elf, true);
    view.setUint32(20, 1, true);
    set64(24, BASE + HEADER_BYTES); // the first instruction
    set64(32, 64); // where the segments are listed
    view.setUint16(52, 64, true);
    view.setUint16(54, 56, true);
    view.setUint16(56, 2, true);
    view.setUint32(64, 1, true); // PT_LOAD, readable and executable
    view.setUint32(68, 5, true);
    set64(80, BASE);
    set64(88, BASE);
    set64(96, size);
    set64(104, size);
    set64(112, 0x1000);
    view.setUint32(120, 0x6474e551, true); // PT_GNU_STACK, not executable
    view.setUint32(124, 6, true);
    set64(168, 16);
    return new Uint8Array(view.buffer);
  }
}
