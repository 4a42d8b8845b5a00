/** What `svc chat` takes in a real terminal, where util-linux's `script` can give one. */
import { delay } from "@std/async";
import { shellQuote } from "../src/base/shell_quote.ts";
import { Scenario } from "../tests/support/scripted.ts";
import { Place, svcCommand } from "../tests/support/svc.ts";
import { type Figure, median, percentile, short } from "./figures.ts";

const STARTS = 15;
const DELTAS_PER_S = 500;
const STREAM_S = 15;
const KEYS = 100;
const FLOOD = 20_000;
/** What is typed, of which the terminal shows each once more: letters that no text has. */
const TYPED = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ";
const SIZE = "stty rows 36 cols 120; ";

/** Start to the prompt, keys while text streams, and a flood of text. */
export async function terminal(): Promise<Figure[]> {
  if (!await hasScript()) return [];
  return [...await starting(), ...await streaming()];
}

async function hasScript(): Promise<boolean> {
  try {
    return (await new Deno.Command("script", { args: ["--version"], stdout: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

/** A program in a pseudo terminal, and when it has shown what. */
class Pty implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #keys: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  #shown = "";
  #waiting: { text: string; found: () => void } | undefined;

  constructor(place: Place, args: readonly string[]) {
    const line = svcCommand().flat().concat(args).map(shellQuote).join(" ");
    this.#child = new Deno.Command("script", {
      args: ["-qfec", SIZE + line, "/dev/null"],
      env: { ...place.env, TERM: "xterm-256color", SHELL: "/bin/sh", LANG: "C.UTF-8" },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#keys = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Waits until a text comes. @returns how long, in milliseconds */
  async shows(text: string, began = performance.now()): Promise<number> {
    if (!this.#shown.includes(text)) {
      const found = Promise.withResolvers<void>();
      this.#waiting = { text, found: found.resolve };
      await found.promise;
    }
    const took = performance.now() - began;
    this.#shown = "";
    return took;
  }

  async type(text: string): Promise<void> {
    await this.#keys.write(new TextEncoder().encode(text));
  }

  async #read(): Promise<void> {
    for await (const piece of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.#shown = (this.#shown + piece).slice(-64 * 1024);
      if (this.#waiting === undefined || !this.#shown.includes(this.#waiting.text)) continue;
      const { found } = this.#waiting;
      this.#waiting = undefined;
      found();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keys.close().catch(() => {});
    this.#child.kill();
    await this.#reading;
    await this.#child.status;
  }
}

/** Time to the prompt, beside a client that asks the daemon one thing. */
async function starting(): Promise<Figure[]> {
  await using it = await Scenario.begin([]);
  const chat: number[] = [];
  const bare: number[] = [];
  for (let n = 0; n <= STARTS; n++) {
    const began = performance.now();
    await using pty = new Pty(it.place, ["chat", "--session", it.session_id]);
    chat.push(await pty.shows("ready", began));
    const called = performance.now();
    await it.place.svc([
      "ctl",
      "call",
      "session.get",
      JSON.stringify({ session_id: it.session_id }),
    ]);
    bare.push(performance.now() - called);
  }
  const [prompt, call] = [median(chat.slice(1)), median(bare.slice(1))];
  return [{
    id: "chat_start",
    name: "svc chat: to the prompt, beyond a bare call",
    unit: "ms",
    value: Math.max(prompt - call, 0),
    note: `${short(prompt)} to the prompt, ${short(call)} for one call; medians of ${STARTS}`,
  }];
}

async function streaming(): Promise<Figure[]> {
  const text = Array.from(
    { length: DELTAS_PER_S * STREAM_S },
    (_, n) => n % 60 === 59 ? `word${n}.\n\n` : `word${n} `,
  );
  const flood = [...Array<string>(FLOOD).fill("word "), "\n\nthe-very-end"];
  await using it = await Scenario.begin([
    { text, pace_ms: 1000 / DELTAS_PER_S },
    { text: flood },
  ]);
  await using pty = new Pty(it.place, ["chat", "--session", it.session_id]);
  await pty.shows("ready");
  await pty.type("go\r");
  await pty.shows("word1");
  const keys: number[] = [];
  for (let n = 0; n < KEYS; n++) {
    const letter = TYPED[n % TYPED.length];
    const began = performance.now();
    const shown = pty.shows(letter, began);
    await pty.type(letter);
    keys.push(await shown);
    // The message is emptied where its letters begin anew.
    if (n % TYPED.length === TYPED.length - 1) await pty.type("\x15");
    await delay(STREAM_S * 1000 / KEYS / 2);
  }
  await pty.type("\x15");
  await it.client.wait(({ type }) => type === "turn.completed", "the turn", 120_000);
  await delay(500);
  const seen = pty.shows("the-very-end");
  await pty.type("go\r");
  const ended = it.client.wait(
    ({ type, data }) => type === "session.delta" && data.text.includes("the-very-end"),
    "the end",
    120_000,
  ).then(() => performance.now());
  await seen;
  const shown_at = performance.now();
  return [
    {
      id: "chat_key",
      name: `svc chat: a key is shown, ${DELTAS_PER_S} deltas/s`,
      unit: "ms",
      value: percentile(keys, 0.98),
      note: `p98 of ${KEYS}, p50 ${short(median(keys))}`,
    },
    {
      id: "chat_behind",
      name: `svc chat: behind the last of ${FLOOD} deltas`,
      unit: "ms",
      value: Math.max(shown_at - await ended, 0),
      note: "after another client of the session had it",
    },
  ];
}
