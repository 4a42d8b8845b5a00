/**
 * Anthropic's format as gateways send it: without usage or ends, with text where a block begins, or
 * with unknown blocks. Users of some agent reported each of these differences, or a similar one.
 */
import { isObject, type Json, numbersIn, parsed } from "./loose_json.ts";
import type { AnswerReader } from "./odd_answers.ts";

/** The blocks of an answer without the provider's own tools. */
const BLOCKS = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);
/** Reasons for the end in the words of other formats. */
const REASONS: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
  // The provider wants to continue in another answer, as after a cut one.
  pause_turn: "max_tokens",
};
/** The field that each kind of delta adds to. */
const TEXTS: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
};

interface Block {
  type: string;
  /** Arguments that came with the block, or an empty object before them; not yet passed on. */
  held?: string;
  has_args: boolean;
  /** Whether this reasoning came with a signature. */
  signed?: boolean;
}

export class AnthropicAnswer implements AnswerReader {
  readonly #onLost: (what: string) => void;
  /** By index; undefined for a block that is left out. */
  readonly #open = new Map<number, Block | undefined>();
  #begun = false;
  #blocks = 0;
  #has_calls = false;
  #reason: string | undefined;
  #stopped = false;

  /** @param onLost called with each unusable part of the answer */
  constructor(onLost: (what: string) => void) {
    this.#onLost = onLost;
  }

  take(data: string): string[] {
    if (data.trim() === "[DONE]") return this.#finish("end_turn");
    const event = parsed(data);
    if (event === undefined) return [data];
    const { error } = event;
    if (event.type === "error" || (error !== undefined && error !== null)) {
      return [JSON.stringify({ type: "error", error: errorOf(error ?? event) })];
    }
    switch (event.type) {
      case "message_start":
        return this.#begin(event.message);
      case "content_block_start":
        return [...this.#begin(), ...this.#blockBegin(event)];
      case "content_block_delta":
        return [...this.#begin(), ...this.#delta(event)];
      case "content_block_stop":
        return this.#blockEnd(this.#indexOf(event.index));
      case "message_delta":
        return [...this.#begin(), ...this.#messageDelta(event)];
      case "message_stop":
        return this.#finish("end_turn");
      case "ping":
        return [];
      default:
        // Events that are not about the answer are dropped; its reader reports the rest.
        return /^(?!content_block|message)/.test(`${event.type ?? "message"}`) ? [] : [data];
    }
  }

  whole(answer: Json): string[] {
    const content = typeof answer.content === "string"
      ? [{ type: "text", text: answer.content }]
      : Array.isArray(answer.content)
      ? answer.content.filter(isObject)
      : [];
    const { stop_reason, usage } = answer;
    return [
      { type: "message_start", message: answer },
      ...content.flatMap((content_block, index) => [
        { type: "content_block_start", index, content_block },
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason }, usage },
      { type: "message_stop" },
    ].flatMap((event) => this.take(JSON.stringify(event)));
  }

  end(): string[] {
    // Without a reason to stop, the answer was cut off.
    return this.#reason === undefined ? [] : this.#finish(this.#reason);
  }

  #begin(message: unknown = {}): string[] {
    if (this.#begun) return [];
    this.#begun = true;
    const { id, model, role, usage, stop_reason } = isObject(message) ? message : {};
    return [JSON.stringify({
      type: "message_start",
      message: {
        id: id === undefined || id === null ? null : `${id}`,
        model,
        role,
        usage: { ...counts(usage, "input_tokens") },
        ...(typeof stop_reason === "string" ? { stop_reason } : {}),
      },
    })];
  }

  #blockBegin({ index: given, content_block }: Json): string[] {
    const index = this.#indexOf(given, this.#blocks);
    const closed = [...this.#open.keys()].flatMap((open) => this.#blockEnd(open));
    const block = isObject(content_block) ? content_block : {};
    const type = typeof block.type === "string" ? block.type : "text";
    this.#blocks = index + 1;
    if (!BLOCKS.has(type)) {
      this.#open.set(index, undefined);
      this.#onLost(`a part of the answer of an unknown kind (${type.slice(0, 40)})`);
      return closed;
    }
    const open: Block = { type, has_args: false };
    this.#open.set(index, open);
    const begin = (content: Json) =>
      JSON.stringify({ type: "content_block_start", index, content_block: { type, ...content } });
    const deltas = (all: Json) =>
      Object.entries(TEXTS).flatMap(([kind, name]) =>
        typeof all[name] === "string" && all[name] !== "" ? [delta(index, kind, all[name])] : []
      );
    switch (type) {
      case "tool_use":
        this.#has_calls = true;
        open.held = argsOf(block.input);
        return [...closed, begin({ id: idOf(block.id), name: `${block.name ?? ""}`, input: {} })];
      case "redacted_thinking":
        return [...closed, begin({ data: `${block.data ?? ""}` })];
      case "thinking":
        open.signed = typeof block.signature === "string" && block.signature !== "";
        return [...closed, begin({ thinking: "" }), ...deltas({ ...block, text: undefined })];
      default:
        return [...closed, begin({ text: "" }), ...deltas({ text: block.text })];
    }
  }

  #delta({ index: given, delta: sent }: Json): string[] {
    const piece = isObject(sent) ? sent : {};
    const kind = kindOf(piece);
    if (kind === undefined) return [];
    const index = this.#indexOf(given, Math.max(0, this.#blocks - 1));
    const begun: string[] = [];
    if (!this.#open.has(index)) {
      const type = { text_delta: "text", thinking_delta: "thinking" }[kind];
      if (type === undefined) return [];
      begun.push(...this.#blockBegin({ index, content_block: { type } }));
    }
    const block = this.#open.get(index);
    const value = piece[TEXTS[kind]];
    if (block === undefined) return begun;
    if (kind === "signature_delta") block.signed = true;
    if (kind !== "input_json_delta") {
      return typeof value === "string" ? [...begun, delta(index, kind, value)] : begun;
    }
    const text = typeof value === "string" ? value : argsOf(value) ?? "";
    // An earlier empty object counts only if nothing follows it.
    if (!block.has_args && text.trim() === "{}") block.held ??= text;
    else if (text !== "") {
      block.has_args = true;
      return [...begun, delta(index, kind, text)];
    }
    return begun;
  }

  #blockEnd(index: number): string[] {
    if (!this.#open.has(index)) return [];
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block === undefined) return [];
    const stop = JSON.stringify({ type: "content_block_stop", index });
    const held = block.has_args ? undefined : block.held;
    if (held !== undefined) return [delta(index, "input_json_delta", held), stop];
    // Gateways to other models do not sign reasoning, but want it back.
    const unsigned = block.type === "thinking" && !block.signed;
    return unsigned ? [delta(index, "signature_delta", ""), stop] : [stop];
  }

  #messageDelta({ delta: given, usage }: Json): string[] {
    const { stop_reason, ...rest } = isObject(given) ? given : {};
    const closed = [...this.#open.keys()].flatMap((open) => this.#blockEnd(open));
    let reason = typeof stop_reason === "string" && stop_reason !== "" ? stop_reason : undefined;
    if (reason !== undefined) {
      reason = Object.hasOwn(REASONS, reason) ? REASONS[reason] : reason;
      if (this.#has_calls && reason === "end_turn") reason = "tool_use";
      this.#reason = reason;
    }
    return [
      ...closed,
      JSON.stringify({
        type: "message_delta",
        delta: { ...rest, stop_reason: this.#reason ?? null },
        usage: counts(usage, "output_tokens"),
      }),
    ];
  }

  #finish(reason: string): string[] {
    if (this.#stopped) return [];
    this.#stopped = true;
    const told = this.#reason === undefined
      ? this.#messageDelta({ delta: { stop_reason: reason } })
      : [...this.#open.keys()].flatMap((open) => this.#blockEnd(open));
    return [...this.#begin(), ...told, JSON.stringify({ type: "message_stop" })];
  }

  #indexOf(given: unknown, otherwise = Math.max(0, this.#blocks - 1)): number {
    const index = given === null || given === undefined || given === "" ? NaN : Number(given);
    return Number.isSafeInteger(index) && index >= 0 ? index : otherwise;
  }
}

function delta(index: number, type: string, value: unknown): string {
  return JSON.stringify({
    type: "content_block_delta",
    index,
    delta: { type, [TEXTS[type]]: value },
  });
}

/** The kind of a delta, which some servers omit. */
function kindOf(piece: Json): string | undefined {
  if (typeof piece.type === "string") {
    return Object.hasOwn(TEXTS, piece.type) ? piece.type : undefined;
  }
  return Object.keys(TEXTS).find((kind) => piece[TEXTS[kind]] !== undefined);
}

/** Returns arguments as text, if there are any. */
function argsOf(input: unknown): string | undefined {
  if (typeof input === "string") return input.trim() === "" ? undefined : input;
  if (!isObject(input) || Object.keys(input).length === 0) return undefined;
  return JSON.stringify(input);
}

function idOf(id: unknown): string {
  const given = id === undefined || id === null ? "" : `${id}`;
  return given === "" ? `toolu_${crypto.randomUUID().replaceAll("-", "")}` : given;
}

/** Returns token counts; the one that the format requires defaults to 0. */
function counts(usage: unknown, required: string): Json {
  const given = Object.entries(numbersIn(isObject(usage) ? usage : {}));
  const counted = given.filter(([, value]) => typeof value === "number");
  return { [required]: 0, ...Object.fromEntries(counted) };
}

function errorOf(error: unknown): Json {
  if (!isObject(error)) return { type: "api_error", message: `${error}` };
  const { type, message } = error;
  return {
    ...error,
    type: typeof type === "string" ? type : "api_error",
    message: typeof message === "string" ? message : JSON.stringify(error),
  };
}
