/**
 * Chat completions as servers that call themselves compatible really send them. What they mean is
 * clear, but the package that reads them takes only the exact format. Users of some agent reported
 * each of these differences.
 */
import { ReasoningFields, type SentReasoning, withReasoning } from "./chat_reasoning.ts";
import { SaidCalls, SaidThoughts } from "./chat_said.ts";
import { isObject, type Json, numbersIn, parsed } from "./loose_json.ts";
import { type AnswerReader, exactly, type Exchange } from "./odd_answers.ts";
import type { ProviderContext } from "./provider_errors.ts";

/** Reasons for the end in the words of other formats. */
const REASONS: Readonly<Record<string, string>> = {
  end_turn: "stop",
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  // Z.ai: the context is full; the next request makes room.
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  sensitive: "content_filter",
  safety: "content_filter",
  network_error: "error",
};

interface CallPiece {
  index: number;
  id?: string;
  type?: "function";
  function: { name?: string; arguments?: string };
}

/**
 * Wraps a `fetch` for one request: its answer has the exact format, and reasoning goes back
 * unchanged.
 */
export function exactChat(
  fetch: typeof globalThis.fetch,
  context: ProviderContext,
  exchange: Pick<Exchange, "given" | "required" | "sent">,
): typeof globalThis.fetch {
  return async (input, init: globalThis.RequestInit = {}) => {
    const asked = typeof init.body === "string"
      ? withReasoning(init.body, exchange.given, exchange.required)
      : init.body;
    const answer = new ChatAnswer(offeredIn(asked));
    exchange.sent = () => answer.reasoning;
    return await exactly(await fetch(input, { ...init, body: asked }), answer, context);
  };
}

/** Returns whether a request offers a tool; parses its body on first use. */
function offeredIn(body: BodyInit | null | undefined): (tool: string) => boolean {
  let names: Set<unknown> | undefined;
  return (tool) => {
    if (names === undefined) {
      const { tools } = (typeof body === "string" ? parsed(body) : undefined) ?? {};
      const all = Array.isArray(tools) ? tools : [];
      names = new Set(all.map((each) => each?.function?.name));
    }
    return names.has(tool);
  };
}

export class ChatAnswer implements AnswerReader {
  readonly #reasoning = new ReasoningFields();
  readonly #thoughts = new SaidThoughts();
  readonly #said_calls: SaidCalls;
  /** The id of each call by index, and whether it has arguments yet. */
  readonly #calls = new Map<number, { id?: string; has_args: boolean; held: boolean }>();
  #last: Json | undefined;
  #finished = false;

  /** @param isOffered whether the request offered a tool of that name */
  constructor(isOffered: (tool: string) => boolean) {
    this.#said_calls = new SaidCalls(isOffered);
  }

  /** The server's reasoning so far, without what a model wrote into its text. */
  get reasoning(): SentReasoning | undefined {
    return this.#reasoning.sent;
  }

  /** Takes the data of an event. @returns the events that it stands for */
  take(data: string): string[] {
    if (data.trim() === "[DONE]") return [...this.#end(), data];
    const event = parsed(data);
    if (event === undefined || (event.error !== undefined && event.error !== null)) return [data];
    // The reader of the answer reports other events.
    if (!Array.isArray(event.choices) && !isObject(event.usage)) return [data];
    const choices = (Array.isArray(event.choices) ? event.choices : []).filter(isObject);
    // Only one answer was requested.
    const [choice] = choices.filter(({ index }) => Number(index ?? 0) === 0);
    const { choices: _, usage, ...rest } = event;
    this.#last = rest;
    return [JSON.stringify({
      ...rest,
      choices: choice === undefined ? [] : [this.#choice(choice)],
      ...(isObject(usage) ? { usage: numbersIn(usage) } : {}),
    })];
  }

  whole(answer: Json): string[] {
    return [...this.take(JSON.stringify(answer)), ...this.take("[DONE]")];
  }

  end(): string[] {
    return [];
  }

  /** Adds an end that the server omitted. */
  #end(): string[] {
    if (this.#finished || this.#last === undefined) return [];
    const choice = this.#choice({ delta: {}, finish_reason: "stop" });
    return [JSON.stringify({ ...this.#last, choices: [choice] })];
  }

  #choice(choice: Json): Json {
    const reason = reasonOf(choice.finish_reason);
    const delta = this.#delta(isObject(choice.delta) ? choice.delta : choice.message);
    let calls = delta.tool_calls as CallPiece[] | undefined ?? [];
    let finish_reason = reason;
    if (reason !== null) {
      this.#finished = true;
      const { content, calls: said } = this.#said_calls.end(this.#thoughts.end());
      delta.content = `${delta.content ?? ""}${content}`;
      calls = [...calls, ...this.#made(said), ...this.#held()];
      // The model stopped for these calls.
      if (this.#calls.size > 0 && reason === "stop") finish_reason = "tool_calls";
    }
    if (delta.content === "") delete delta.content;
    delete delta.tool_calls;
    return {
      index: 0,
      delta: { ...delta, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
      finish_reason,
    };
  }

  #delta(given: unknown): Json {
    const { tool_calls, function_call, content, ...delta } = isObject(given) ? given : {};
    this.#reasoning.take(delta);
    const list = Array.isArray(tool_calls) ? tool_calls : isObject(tool_calls) ? [tool_calls] : [];
    if (isObject(function_call)) list.push({ index: 0, function: function_call });
    const calls = list.filter(isObject).flatMap((call) => this.#call(call));
    if (delta.role === null || delta.role === "") delete delta.role;
    const { thought: listed, text: given_text } = partsOf(content);
    const { thought: said_thought, text } = this.#thoughts.take(given_text);
    const { content: said, calls: made } = this.#said_calls.take(text);
    const all = [...calls, ...this.#made(made)];
    const thought = listed + said_thought;
    return {
      ...delta,
      ...(thought === "" ? {} : { reasoning_content: thought }),
      ...(said === "" ? {} : { content: said }),
      ...(all.length > 0 ? { tool_calls: all } : {}),
    };
  }

  #call({ index: given, id: given_id, function: made }: Json): CallPiece[] {
    const { name, arguments: args } = isObject(made) ? made : {};
    const id = given_id === undefined || given_id === null || given_id === ""
      ? undefined
      : String(given_id);
    const index = this.#indexOf(given, id, typeof name === "string" && name !== "");
    const known = this.#calls.get(index);
    const call = known ?? { id, has_args: false, held: false };
    this.#calls.set(index, call);
    const text = typeof args === "string" ? args : isObject(args) ? JSON.stringify(args) : "";
    // An empty object before the real arguments; it counts only if none follow.
    const holds = !call.has_args && text.trim() === "{}";
    if (holds) call.held = true;
    else if (text !== "") {
      call.has_args = true;
      call.held = false;
    }
    return [{
      index,
      ...(known === undefined ? { id: id ?? madeId(), type: "function" } : {}),
      function: {
        ...(known === undefined || (typeof name === "string" && name !== "")
          ? { name: `${name ?? ""}` }
          : {}),
        ...(holds || text === ""
          ? (known === undefined ? { arguments: "" } : {})
          : { arguments: text }),
      },
    }];
  }

  /** Finds a call by its index, its id, or as the newest. */
  #indexOf(given: unknown, id: string | undefined, named: boolean): number {
    const index = given === null || given === "" ? NaN : Number(given);
    const next = Math.max(-1, ...this.#calls.keys()) + 1;
    if (Number.isSafeInteger(index) && index >= 0) {
      const known = this.#calls.get(index);
      // Some servers number every call 0.
      const is_other = known?.id !== undefined && id !== undefined && known.id !== id;
      return is_other ? this.#byId(id) ?? (named ? next : index) : index;
    }
    return this.#byId(id) ?? (named || next === 0 ? next : next - 1);
  }

  #byId(id: string | undefined): number | undefined {
    if (id === undefined) return undefined;
    return [...this.#calls].find(([, call]) => call.id === id)?.[0];
  }

  /** Adds calls that the model wrote into its text. */
  #made(calls: readonly { name: string; arguments: string }[]): CallPiece[] {
    return calls.map((made) => {
      const index = Math.max(-1, ...this.#calls.keys()) + 1;
      const id = madeId();
      this.#calls.set(index, { id, has_args: true, held: false });
      return { index, id, type: "function", function: made };
    });
  }

  #held(): CallPiece[] {
    return [...this.#calls].filter(([, { held }]) => held)
      .map(([index]) => ({ index, function: { arguments: "{}" } }));
  }
}

function reasonOf(given: unknown): string | null {
  if (typeof given !== "string" || given === "") return null;
  const known = given.toLowerCase();
  return Object.hasOwn(REASONS, known) ? REASONS[known] : given === "STOP" ? "stop" : given;
}

/** At most 40 characters, which every provider takes back. */
function madeId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** Splits a text, or a list of parts (Mistral), into text and thought. */
function partsOf(content: unknown): { thought: string; text: string } {
  if (typeof content === "string") return { thought: "", text: content };
  const parts = (Array.isArray(content) ? content : []).filter(isObject);
  const joined = (pick: (part: Json) => unknown) =>
    parts.map(pick).filter((text) => typeof text === "string").join("");
  return {
    text: joined(({ text }) => text),
    thought: joined(({ thinking }) => Array.isArray(thinking) ? partsOf(thinking).text : thinking),
  };
}
