/** What `svc chat -p` prints with `--output json` and `--output stream-json`. */
import * as z from "zod";

/** The line of each type, in the order in which the documentation lists them. */
export const LINES = {
  init: {
    about: "The first line: what runs where",
    schema: () =>
      z.strictObject({
        type: z.literal("init"),
        session_id: z.string().describe("The session; for `--session` if it is kept"),
        model: z.string().describe("`<provider>/<model>`"),
        cwd: z.string().describe("Working directory of the session"),
      }),
  },
  text: {
    about: "A piece of the model's text",
    schema: () =>
      z.strictObject({ type: z.literal("text"), text: z.string().describe("The piece") }),
  },
  tool_started: {
    about: "A tool call begins",
    schema: () =>
      z.strictObject({
        type: z.literal("tool_started"),
        call_id: z.string().describe("Id of the call"),
        tool: z.string().describe("Name of the tool"),
        args: z.unknown().describe("Its arguments"),
      }),
  },
  tool_completed: {
    about: "A tool call has ended",
    schema: () =>
      z.strictObject({
        type: z.literal("tool_completed"),
        call_id: z.string().describe("Id of the call"),
        tool: z.string().describe("Name of the tool"),
        ok: z.boolean().describe("Whether it succeeded"),
        output: z.string().describe("What it returned"),
        truncated: z.boolean().describe("Whether `output` was cut"),
        duration_ms: z.number().describe("How long it took"),
        exit_code: z.int().optional().describe("Exit code of a command"),
      }),
  },
  denied: {
    about: "A tool call was denied, because nobody can be asked",
    schema: () =>
      z.strictObject({
        type: z.literal("denied"),
        call_id: z.string().describe("Id of the call"),
        tool: z.string().describe("Name of the tool"),
        args: z.unknown().describe("Its arguments"),
        hint: z.string().describe("How to allow it"),
      }),
  },
  unanswered: {
    about: "The model asked a question, and nobody is there to answer",
    schema: () =>
      z.strictObject({
        type: z.literal("unanswered"),
        call_id: z.string().describe("Id of the call"),
        question: z.string().describe("The question"),
        options: z.array(z.strictObject({
          label: z.string(),
          description: z.string().optional(),
        })).describe("Options, each with `label` and perhaps `description`"),
      }),
  },
  note: {
    about:
      "A note. After `model_retry` the pieces since the last call, or since the start, are void: the model answers again",
    schema: () =>
      z.strictObject({
        type: z.literal("note"),
        text: z.string().describe("The note"),
        reason_code: z.string().describe("Its kind, such as `model_retry`"),
      }),
  },
  asked_again: {
    about: "The answer does not fit the schema, and the model is asked again",
    schema: () =>
      z.strictObject({
        type: z.literal("asked_again"),
        problems: z.array(z.string()).describe("What is wrong with the answer"),
      }),
  },
  result: {
    about: "The last line, and all that `--output json` prints",
    schema: () =>
      z.strictObject({
        type: z.literal("result"),
        stop_reason: z.string().describe("How it ended; see [exit codes](#exit-codes)"),
        exit_code: z.int().describe("Exit code of the command"),
        result: z.string().describe("The answer: the model's text after its last tool call"),
        value: z.unknown().optional().describe("With `--schema`: the answer, parsed"),
        schema_problems: z.array(z.string()).optional()
          .describe("With `--schema`: what is wrong with the last answer"),
        error: z.string().optional().describe("What went wrong"),
        session_id: z.string().optional().describe("The session, unless none could be started"),
        model: z.string().optional().describe("`<provider>/<model>`"),
        usage: z.strictObject({
          tokens_in: z.int(),
          tokens_out: z.int(),
          tokens_cached: z.int(),
          usd: z.number(),
        }).describe("`tokens_in`, `tokens_out`, `tokens_cached` and `usd` of the run"),
        duration_ms: z.int().describe("How long the run took"),
        steps: z.int().describe("Number of model calls"),
        tool_calls: z.int().describe("Number of tool calls"),
        denied: z.int().describe("Number of tool calls that were denied"),
      }),
  },
} as const;

export type Line = { [T in keyof typeof LINES]: z.infer<ReturnType<typeof LINES[T]["schema"]>> }[
  keyof typeof LINES
];

export type ResultLine = Extract<Line, { type: "result" }>;
