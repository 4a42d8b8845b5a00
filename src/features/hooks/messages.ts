/** What hooks read on their standard input and may write on their standard output. */
import * as z from "zod";
import { APPROVALS } from "../../protocol/approval.ts";

/** The most characters of an answer's reason and context. */
export const REASON_MAX = 2_000;
export const CONTEXT_MAX = 8_000;

const about = () => ({
  session_id: z.string(),
  title: z.string().describe("Title of the session"),
  workdir: z.string().describe("The directory of the session"),
  model: z.string(),
  approval: z.enum(APPROVALS),
  trust: z.enum(["trusted", "untrusted"]).describe("untrusted: the session works for others"),
  at: z.string().describe("RFC 3339"),
});

const call = () => ({
  call_id: z.string(),
  tool: z.string(),
  access: z.enum(["read", "write", "execute", "network"]).describe("What the tool does"),
  args: z.unknown().describe("The arguments of the call, as the tool gets them"),
  subagent: z.string().optional().describe("Description of the subagent that makes the call"),
});

/** What a hook reads, by event. */
export const hookInput = () =>
  z.discriminatedUnion("event", [
    z.strictObject({ event: z.literal("tool.before"), ...about(), ...call() }),
    z.strictObject({
      event: z.literal("tool.after"),
      ...about(),
      ...call(),
      ok: z.boolean(),
      output: z.string().describe("The result, cut after 16,384 characters"),
      exit_code: z.int().optional().describe("Present for a command that finished"),
    }),
    z.strictObject({
      event: z.literal("turn.started"),
      ...about(),
      turn_id: z.string(),
      prompt: z.string().describe("The messages that it answers, cut after 16,384 characters"),
    }),
    z.strictObject({
      event: z.literal("turn.completed"),
      ...about(),
      turn_id: z.string(),
      stop_reason: z.string(),
      message: z.string().describe("What the model said, cut after 16,384 characters"),
      usd: z.number().describe("What the turn cost"),
    }),
    z.strictObject({ event: z.literal("session.created"), ...about() }),
    z.strictObject({
      event: z.literal("question.asked"),
      ...about(),
      approval_id: z.string(),
      tool: z.string(),
      args: z.unknown(),
      reason: z.string().describe("What the person is asked"),
      kind: z.literal("question").optional().describe("Present for a question from the model"),
    }),
  ]);

export type HookInput = z.output<ReturnType<typeof hookInput>>;

/** What a hook may answer; nothing at all counts as an empty object. */
export const hookAnswer = () =>
  z.strictObject({
    decision: z.enum(["allow", "ask", "deny"]).optional().describe(
      "For tool.before: deny refuses the call, ask asks the person. allow has no effect unless " +
        "may_allow is set",
    ),
    reason: z.string().max(REASON_MAX).optional()
      .describe("Why, for the model and the person"),
    args: z.record(z.string(), z.unknown()).optional().describe(
      "For tool.before: arguments that replace those of the call with the same names",
    ),
    context: z.string().max(CONTEXT_MAX).optional().describe(
      "For tool.before, tool.after, turn.started and session.created: text for the model",
    ),
  });

export type HookAnswer = z.output<ReturnType<typeof hookAnswer>>;

/**
 * Reads the output of a hook.
 *
 * @throws {Error} when it is not an answer
 */
export function readAnswer(output: string): HookAnswer {
  if (output.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    throw new Error("its output is not JSON");
  }
  const parsed = hookAnswer().safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`its output is not an answer: ${z.prettifyError(parsed.error)}`);
}
