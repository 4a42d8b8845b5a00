import { assertEquals } from "@std/assert";
import type { Key } from "../features/tui/keys.ts";
import { KeyDecoder } from "./terminal_keys.ts";

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The keys' names, characters as they are, pastes in angle brackets. */
function short(keys: readonly Key[]): string[] {
  return keys.map((key) =>
    key.type === "named" ? key.name : key.type === "paste" ? `<${key.text}>` : key.text
  );
}

function decoded(...reads: string[]): string[] {
  const decoder = new KeyDecoder();
  return short(reads.flatMap((read) => decoder.feed(bytes(read))));
}

Deno.test("control keys and sequences have their usual names", () => {
  assertEquals(decoded("\r\n\t\x7f\b\x01\x03\x04\x0c\x17\x1a"), [
    "enter",
    "ctrl-j",
    "tab",
    "backspace",
    "backspace",
    "ctrl-a",
    "ctrl-c",
    "ctrl-d",
    "ctrl-l",
    "ctrl-w",
    "ctrl-z",
  ]);
  assertEquals(decoded("\x1b[A\x1bOB\x1b[1;5C\x1b[H\x1b[4~\x1b[5~\x1b[3~\x1b[Z"), [
    "up",
    "down",
    "ctrl-right",
    "home",
    "end",
    "pageup",
    "delete",
    "shift-tab",
  ]);
  assertEquals(decoded("\x1b\r\x1bb\x1b\x7f\x1b[13;2u\x1b[27;5;13~\x1b[97;5u"), [
    "alt-enter",
    "alt-b",
    "alt-backspace",
    "shift-enter",
    "ctrl-enter",
    "ctrl-a",
  ]);
});

Deno.test("a character of several code points is one key", () => {
  assertEquals(decoded("a日👍🏽é"), ["a", "日", "👍🏽", "é"]);
});

Deno.test("whatever is read is the same however the reads are split", () => {
  const whole = "x\x1b[1;5D日👍🏽\x1b[200~a\x1b[31mb\r\nc\x1b[201~\x1bOA\x1b\ry\x1b[6~é";
  const all = bytes(whole);
  const expected = decoded(whole);
  for (let at = 1; at < all.length; at++) {
    const decoder = new KeyDecoder();
    const keys = [...decoder.feed(all.slice(0, at)), ...decoder.feed(all.slice(at))];
    // Only an emoji and its modifier are two keys when they come apart.
    assertEquals(
      short(keys).join("|").replace("👍|🏽", "👍🏽"),
      expected.join("|"),
      `split at ${at}`,
    );
  }
  const decoder = new KeyDecoder();
  const one_by_one = [...all].flatMap((byte) => decoder.feed(Uint8Array.of(byte)));
  assertEquals(short(one_by_one).join("|").replace("👍|🏽", "👍🏽"), expected.join("|"));
});

Deno.test("a paste is one key with all of its text, line ends and sequences included", () => {
  assertEquals(decoded("\x1b[200~two\rlines\x1b[A\x03\x1b[201~z"), ["<two\rlines\x1b[A\x03>", "z"]);
});

Deno.test("a lone Esc waits until it is clear that nothing follows", () => {
  const decoder = new KeyDecoder();
  assertEquals(decoder.feed(bytes("\x1b")), []);
  assertEquals(decoder.waiting, true);
  assertEquals(short(decoder.flush()), ["escape"]);
  assertEquals(decoder.waiting, false);
  assertEquals(decoder.flush(), []);
  assertEquals(decoded("\x1b\x1b[A"), ["escape", "up"]);
});

Deno.test("sequences that are no key are swallowed whole", () => {
  const sequences = ["\x1b[?1;2c", "\x1b[I", "\x1b[<0;3;4M", "\x1b[[A", "\x1b[15~", "\x1bOP"];
  assertEquals(decoded("a", ...sequences, "b"), ["a", "b"]);
});
