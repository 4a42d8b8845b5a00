/** The tools with which a model reads, writes to and stops commands in the background. */
import * as z from "zod";
import type { SessionCommand } from "../../agent/background.ts";
import { refusalNotes } from "../../agent/way_out.ts";
import { heldText } from "../../jail/holds.ts";
import { accessWords } from "../../protocol/command_access.ts";
import { endText } from "../../protocol/background_text.ts";
import type { Host } from "../../verbs/host.ts";
import { defineTool, type Tool } from "../../agent/tool.ts";

/** Bytes of output in one answer. */
const PIECE_BYTES = 24 * 1024;
/** The longest that a call waits for output, in seconds. */
const WAIT_MAX_S = 300;
/** Characters that a command is given at once: less than a pipe takes that nobody has read. */
const INPUT_MAX = 16 * 1024;

/** Returns the tools for commands that run. */
export function backgroundTools(parts: Pick<Host, "background" | "config" | "sandbox">): Tool[] {
  const find = async (session_id: string, command_id: string) => {
    const background = await parts.background.get();
    return { background, command: background.get(session_id, command_id) };
  };
  const command_id = () => z.string().min(1).describe("The id that run_command returned");
  return [
    defineTool({
      name: "command_output",
      description:
        "Returns what a background command has written since you last read it, and how " +
        "it ended if it has. wait_s waits for output or the end.",
      access: "read",
      input: z.strictObject({
        command_id: command_id(),
        wait_s: z.int().min(0).max(WAIT_MAX_S).optional()
          .describe("How long to wait if there is no new output, in seconds (default: 0)"),
      }),
      describe: ({ command_id }) => `read the output of ${command_id}`,
      async run({ command_id, wait_s = 0 }, { session_id, signal }) {
        const { background, command } = await find(session_id, command_id);
        await news(command, wait_s * 1000, signal);
        const { text, left } = background.readForModel(command, PIECE_BYTES);
        const notes = left > 0 ? [`[${left} more bytes: read again]`] : [];
        const refused = refusalNotes(command.way_out);
        notes.push(...refused.slice(command.refusals_read));
        command.refusals_read = refused.length;
        notes.push(`[${await stateOf(command)}]`);
        const { exit_code } = command.ended ?? {};
        return {
          ok: true,
          output: [text.trimEnd(), ...notes].filter((it) => it !== "").join("\n"),
          ...(exit_code !== undefined && { exit_code }),
        };
      },
    }),
    defineTool({
      name: "command_input",
      description:
        "Writes text to the standard input of a background command. It is written as it " +
        "is, so end a line with a newline.",
      access: "execute",
      input: z.strictObject({
        command_id: command_id(),
        text: z.string().max(INPUT_MAX),
        close: z.boolean().optional().describe("End the input after the text"),
      }),
      async prepare(args, _workdir, session_id): Promise<Input> {
        const { command } = await find(session_id, args.command_id);
        return { ...args, command: command.command, beyond: command.beyond };
      },
      describe: ({ command_id, beyond }) =>
        `write to the input of ${command_id}${
          beyond === undefined ? "" : `, which runs ${beyond}`
        }`,
      rule: ({ command_id, text, close }) =>
        `command_input ${JSON.stringify([command_id, text, close ?? false])}`,
      asks_in_auto: ({ beyond }) => beyond !== undefined,
      beyond: ({ beyond }) => beyond,
      async held({ beyond }) {
        if (beyond === accessWords({ outside_sandbox: true })) return undefined;
        const network = beyond !== undefined || parts.config().sandbox.network === true;
        return heldText(await parts.sandbox(), network);
      },
      async run({ command_id, text, close }, { session_id }) {
        const { command: { process, ended } } = await find(session_id, command_id);
        if (ended !== undefined || process.end !== undefined) {
          return { ok: false, output: `${command_id} has ended` };
        }
        if (!process.writable) return { ok: false, output: `${command_id} takes no more input` };
        const bytes = new TextEncoder().encode(text);
        const taken = process.write(bytes);
        if (taken < bytes.length) {
          return {
            ok: false,
            output: `${command_id} does not read its input: only the first ${taken} of ` +
              `${bytes.length} bytes were written`,
          };
        }
        if (close) process.closeInput();
        return { ok: true, output: `${taken} bytes written${close ? ", input closed" : ""}` };
      },
    }),
    defineTool({
      name: "stop_command",
      description: "Ends a background command with everything that it started.",
      access: "read",
      input: z.strictObject({ command_id: command_id() }),
      describe: ({ command_id }) => `stop ${command_id}`,
      async run({ command_id }, { session_id }) {
        const { background, command } = await find(session_id, command_id);
        await background.stop(session_id, command_id, "model");
        return { ok: true, output: await stateOf(command) };
      },
    }),
  ];
}

/** What is written to a command, with the command for the person to see. */
interface Input {
  command_id: string;
  text: string;
  close?: boolean;
  command: string;
  beyond: string | undefined;
}

/** Waits until a command has output that the model has not read, or has ended. */
async function news(command: SessionCommand, ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return;
  signal.throwIfAborted();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  signal.addEventListener("abort", () => late.resolve(), { once: true });
  try {
    let over = false;
    late.promise.then(() => over = true);
    const { process } = command;
    while (!over && process.end === undefined && process.output.total === command.model_read) {
      await Promise.race([process.changed(), late.promise]);
    }
  } finally {
    clearTimeout(timer);
    late.resolve();
  }
  signal.throwIfAborted();
}

async function stateOf(command: SessionCommand): Promise<string> {
  if (command.process.end === undefined) {
    const s = Math.round((Date.now() - Date.parse(command.started_at)) / 1000);
    return `running for ${s} s`;
  }
  await command.recorded;
  const problem = command.process.end.problem;
  return endText(command.ended!) + (problem === undefined ? "" : `: ${problem}`);
}
