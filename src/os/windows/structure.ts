/**
 * Structures of the Windows API as bytes, laid out as by the C compiler for x64 and arm64: each
 * member at a multiple of its size, the whole a multiple of the largest.
 */

/** Sizes in bytes; pointers and handles are 64 bits. */
const SIZES = { u16: 2, u32: 4, u64: 8, pointer: 8 } as const;
type MemberType = keyof typeof SIZES;

export interface Member {
  readonly offset: number;
  readonly type: MemberType;
}

export interface Structure<Name extends string = string> {
  readonly size: number;
  readonly members: Readonly<Record<Name, Member>>;
}

/** Lays out a structure from its members, in order. */
export function structure<Name extends string>(types: Record<Name, MemberType>): Structure<Name> {
  const members: Partial<Record<Name, Member>> = {};
  let end = 0;
  let alignment = 1;
  for (const [name, type] of Object.entries(types) as [Name, MemberType][]) {
    const size = SIZES[type];
    const offset = roundUp(end, size);
    members[name] = { offset, type };
    end = offset + size;
    alignment = Math.max(alignment, size);
  }
  return { size: roundUp(end, alignment), members: members as Record<Name, Member> };
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

/** Memory that points at other memory, and keeps it alive. */
class Memory extends Uint8Array<ArrayBuffer> {
  readonly held: Uint8Array[] = [];
}

/** Bytes for a pointer to them. */
export type MemberValue = number | bigint | Deno.PointerValue | Uint8Array<ArrayBuffer>;

/** One structure in memory, zeroed at first. */
export class Instance<Name extends string> {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  readonly #members: Structure<Name>["members"];

  /** @param bytes existing memory; its own by default */
  constructor(
    { size, members }: Structure<Name>,
    bytes: Uint8Array<ArrayBuffer> = new Memory(new ArrayBuffer(size)),
  ) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#members = members;
  }

  set(name: Name, value: MemberValue): this {
    const { offset, type } = this.#members[name];
    if (value instanceof Uint8Array && this.bytes instanceof Memory) this.bytes.held.push(value);
    if (type === "u16") this.#view.setUint16(offset, Number(value), true);
    else if (type === "u32") this.#view.setUint32(offset, Number(value), true);
    else this.#view.setBigUint64(offset, address(value), true);
    return this;
  }

  /** A member of at most 32 bits. */
  number(name: Name): number {
    const { offset, type } = this.#members[name];
    return type === "u16" ? this.#view.getUint16(offset, true) : this.#view.getUint32(offset, true);
  }

  /** A 64-bit member. */
  bigint(name: Name): bigint {
    return this.#view.getBigUint64(this.#members[name].offset, true);
  }

  pointer(name: Name): Deno.PointerValue {
    return Deno.UnsafePointer.create(this.bigint(name));
  }
}

function address(value: MemberValue): bigint {
  if (value instanceof Uint8Array) return addressOf(value);
  return typeof value === "object" ? Deno.UnsafePointer.value(value) : BigInt(value);
}

/** Returns the address of bytes. */
export function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
}

/** Encodes text for the wide functions: UTF-16 with a final zero. */
export function wide(text: string): Uint8Array<ArrayBuffer> {
  const units = new Uint16Array(text.length + 1);
  for (let n = 0; n < text.length; n++) units[n] = text.charCodeAt(n);
  return new Uint8Array(units.buffer);
}

/** Reads a text from a wide function. */
export function readWide(pointer: Deno.PointerObject): string {
  const view = new Deno.UnsafePointerView(pointer);
  const units: number[] = [];
  for (let unit; (unit = view.getUint16(units.length * 2)) !== 0;) units.push(unit);
  return String.fromCharCode(...units);
}
