/**
 * The model of a soak, in a process of its own: prints `{"url":…}` and serves until its input ends.
 * What it answers hangs on the number at the end of the last user message, so each run does the same.
 */
import { type Answer, type ParsedRequest, startOpenAiServer } from "../support/model_servers.ts";

const DELTAS = 40;
const PACE_MS = 25;

function answer({ messages }: ParsedRequest): Answer {
  const last = messages.at(-1)!;
  const speak: Answer = { text: Array(DELTAS).fill("word "), pace_ms: PACE_MS };
  if (last.role !== "user") return speak;
  const number = Number(last.text.match(/\d+$/)?.[0] ?? 0);
  const text = ["I look ", "first. "];
  if (number % 20 === 10) {
    const args = { command: `echo ${number} && wc -c notes.txt` };
    return { text, calls: [{ name: "run_command", args }] };
  }
  if (number % 5 === 0) {
    const args = { path: "notes.txt" };
    return { text, calls: [{ name: "read_file", args }, { name: "list_dir", args: {} }] };
  }
  return speak;
}

const server = startOpenAiServer(answer, { open: true, capture: false });
console.log(JSON.stringify({ url: server.url }));
// Its parent has gone when the input ends.
for await (const _ of Deno.stdin.readable);
Deno.exit(0);
