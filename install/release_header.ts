/**
 * Recognizes the system of a program by its first bytes, so that no release contains a wrong
 * runtime.
 */
import type { Target } from "../src/features/update/manifest.ts";

/** The first bytes of programs for a system; `undefined` for a byte that can be anything. */
const HEADERS: Readonly<Record<Target, readonly (number | undefined)[]>> = {
  // ELF, 64 bits, little-endian; at 18 its e_machine.
  "x86_64-unknown-linux-gnu": elf(0x3e),
  "aarch64-unknown-linux-gnu": elf(0xb7),
  // Mach-O, 64 bits; at 4 its cputype.
  "x86_64-apple-darwin": [0xcf, 0xfa, 0xed, 0xfe, 0x07, 0, 0, 0x01],
  "aarch64-apple-darwin": [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 0x01],
  // PE after its MS-DOS header; the machine is stored further inside.
  "x86_64-pc-windows-msvc": [0x4d, 0x5a],
};

function elf(machine: number): (number | undefined)[] {
  const rest = Array<undefined>(18 - 6).fill(undefined);
  return [0x7f, 0x45, 0x4c, 0x46, 2, 1, ...rest, machine, 0];
}

/** Reports whether a file that begins with these bytes is a program for a system. */
export function isFor(target: Target, bytes: Uint8Array): boolean {
  return HEADERS[target].every((byte, at) => byte === undefined || bytes[at] === byte);
}

/** How many bytes {@linkcode isFor} needs. */
export const HEADER_BYTES = 20;
