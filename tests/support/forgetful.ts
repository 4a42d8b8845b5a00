/**
 * A scripted model with a small context: it refuses what is longer, sums a conversation up when it is
 * asked to, and knows only what it is sent.
 */
import type { Answer, Json, ParsedRequest, Scripted } from "./model_servers.ts";

/** A fact as a person tells it, and the question for it. */
export const fact = (name: string, value: string) => `Remember: the code of ${name} is ${value}.`;
export const askFor = (name: string) => `What is the code of ${name}?`;

const FACT = /the code of (\w+) is (\w+)\./g;
const QUESTION = /^What is the code of (\w+)\?$/;
const CHARACTERS_A_TOKEN = 4;
const SUM_UP = "This conversation is about to be shortened.";

export interface ForgetfulOptions {
  /** Tokens that a request may have. */
  limit: number;
  /** How it refuses a longer one. */
  refusal?: (tokens: number, limit: number) => NonNullable<Answer["status"]>;
  /** What it answers to all but questions and summaries. */
  answer?: (request: ParsedRequest) => Answer;
  /** What it answers when it is to sum up; by default the facts that it finds. */
  summary?: (facts: string) => Answer;
}

/** What a forgetful model has seen. */
export interface Seen {
  /** Tokens of the longest request that it took. */
  longest: number;
  refused: number;
  summaries: number;
  /** System prompt and tools of all requests, as they were sent. */
  prefixes: Set<string>;
}

/** Tokens of a request, about as the server counts those of its usage. */
function requestTokens({ tools = [], messages }: Json): number {
  return Math.ceil(JSON.stringify([tools, messages]).length / CHARACTERS_A_TOKEN);
}

/** Whether a request asks for a summary. */
export function asksForSummary({ messages }: ParsedRequest): boolean {
  const last = messages.at(-1);
  return last?.role === "user" && last.text.includes(SUM_UP);
}

const OPENAI: NonNullable<ForgetfulOptions["refusal"]> = (tokens, limit) => ({
  code: 400,
  type: "context_length_exceeded",
  message: `This model's maximum context length is ${limit} tokens. However, your messages ` +
    `resulted in ${tokens} tokens. Please reduce the length of the messages.`,
});

/** The script of a forgetful model, and what it has seen. */
export function forgetful(options: ForgetfulOptions): { script: Scripted; seen: Seen } {
  const { limit, refusal = OPENAI, answer = () => ({ text: ["noted"] }) } = options;
  const { summary = (facts) => ({ text: [`Told: ${facts || "nothing"}`] }) } = options;
  const seen: Seen = { longest: 0, refused: 0, summaries: 0, prefixes: new Set() };
  const script: Scripted = (request) => {
    const { body, messages } = request;
    const tokens = requestTokens(body);
    if (tokens > limit) {
      seen.refused++;
      return { status: refusal(tokens, limit) };
    }
    seen.longest = Math.max(seen.longest, tokens);
    seen.prefixes.add(JSON.stringify([body.messages[0], body.tools]));
    if (asksForSummary(request)) {
      seen.summaries++;
      const told = [...factsIn(messages)].map(([name, value]) =>
        `the code of ${name} is ${value}.`
      );
      return summary(told.join(" "));
    }
    const last = messages.at(-1);
    const asked = last?.role === "user" ? QUESTION.exec(last.text.split("\n").at(-1)!) : null;
    if (asked !== null) return { text: [factsIn(messages).get(asked[1]) ?? "I do not know"] };
    return answer(request);
  };
  return { script, seen };
}

/** The facts in a conversation, by their names. */
function factsIn(messages: ParsedRequest["messages"]): Map<string, string> {
  const found = JSON.stringify(messages).matchAll(FACT);
  return new Map([...found].map(([, name, value]) => [name, value]));
}
