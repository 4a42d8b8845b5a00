import { writeAllSync } from "../base/write_all.ts";

const ENTER = ["\r", "\n"];
/** Ctrl-C and Ctrl-D, which raw mode sends as text. */
const LEAVE = ["\x03", "\x04"];
const BACKSPACE = ["\x7f", "\b"];
/** Ctrl-U, which removes the whole line. */
const KILL = "\x15";
/** Some terminals send these around pasted text. */
const PASTE = ["\x1b[200~", "\x1b[201~"];

/**
 * Asks for a secret on the terminal without showing it. The question goes to standard error.
 *
 * @returns undefined after Ctrl-C, Ctrl-D or the end of the input
 */
export async function askHidden(question: string): Promise<string | undefined> {
  const say = (text: string) => writeAllSync(Deno.stderr, new TextEncoder().encode(text));
  // First, because the terminal echoes what is typed until then.
  Deno.stdin.setRaw(true);
  try {
    say(question);
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(4_096);
    let typed = "";
    for (;;) {
      const count = await Deno.stdin.read(buffer);
      if (count === null) return undefined;
      for (const char of decoder.decode(buffer.subarray(0, count), { stream: true })) {
        if (ENTER.includes(char)) return PASTE.reduce((text, it) => text.replace(it, ""), typed);
        if (LEAVE.includes(char)) return undefined;
        if (BACKSPACE.includes(char)) typed = typed.slice(0, -1);
        else if (char === KILL) typed = "";
        else typed += char;
      }
    }
  } finally {
    Deno.stdin.setRaw(false);
    say("\n");
  }
}
