import { assertEquals } from "@std/assert";
import { KeyDecoder, type TerminalEvent } from "./terminal_keys.ts";

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The keys' names, characters as they are, pastes in angle brackets; what the mouse and window did. */
function short(keys: readonly TerminalEvent[]): string[] {
  return keys.map((key) => {
    switch (key.type) {
      case "named":
        return key.name;
      case "paste":
        return `<${key.text}>`;
      case "character":
        return key.text;
      case "focus":
        return key.focused ? "focused" : "left";
      case "mouse":
        return `${key.action} ${key.row},${key.col}${key.by === 0 ? "" : ` ${key.by}`}`;
    }
  });
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
  const sequences = ["\x1b[?1;2c", "\x1b[[A", "\x1b[15~", "\x1bOP", "\x1b[57441u"];
  assertEquals(decoded("a", ...sequences, "b"), ["a", "b"]);
});

Deno.test("keys of the kitty protocol: by the Latin key, from the keypad, and not when let go", () => {
  assertEquals(
    decoded("\x1b[27u\x1b[99;5u\x1b[1089::99;5u\x1b[122:90;6u\x1b[57404u\x1b[57414;2u\x1b[32;5u"),
    ["escape", "ctrl-c", "ctrl-c", "ctrl-shift-z", "5", "shift-enter", "ctrl-space"],
  );
  assertEquals(decoded("\x1b[97;1:3u\x1b[1;1:3A\x1b[1;5:1A\x1b[99;69u"), ["ctrl-up", "ctrl-c"]);
});

Deno.test("the mouse: presses of the left button, drags, the wheel", () => {
  assertEquals(
    decoded("\x1b[<0;3;4M\x1b[<32;5;4M\x1b[<0;5;4m\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<4;1;1M"),
    ["press 3,2", "drag 3,4", "release 3,4", "wheel 0,0 -1", "wheel 0,0 1", "press 0,0"],
  );
  assertEquals(decoded("\x1b[<2;3;4M\x1b[<66;1;1M\x1b[<128;1;1M\x1b[<0;0;0M"), []);
});

Deno.test("the window tells when it gets and loses the focus", () => {
  assertEquals(decoded("\x1b[O\x1b[I"), ["left", "focused"]);
});
