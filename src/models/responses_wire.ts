/**
 * OpenAI's responses format as servers send it: items without a status or an id, or only at their
 * end, other names for the end, answers in one piece. The package would drop a call for a missing
 * member.
 */
import { isObject, type Json, numbersIn, parsed } from "./loose_json.ts";
import type { AnswerReader } from "./odd_answers.ts";

/** The items of an answer without the provider's own tools. */
const ITEMS = new Set(["message", "reasoning", "function_call"]);
/** The end of an answer, by the servers' names for it. */
const ENDS: Readonly<Record<string, string>> = {
  "response.completed": "response.completed",
  "response.done": "response.completed",
  "response.incomplete": "response.incomplete",
};

/** An item that is being written. */
interface Open {
  type: string;
  id: string;
  call_id: string;
  name: string;
  args: string;
}

export class ResponsesAnswer implements AnswerReader {
  readonly #onLost: (what: string) => void;
  /** By index; undefined for an item that is left out. */
  readonly #open = new Map<number, Open | undefined>();
  /** Ids of ended items. */
  readonly #done = new Set<string>();
  #next = 0;
  #begun = false;
  #said = "";
  #ended = false;

  /** @param onLost called with each unusable part of the answer */
  constructor(onLost: (what: string) => void) {
    this.#onLost = onLost;
  }

  take(data: string): string[] {
    if (data.trim() === "[DONE]") return this.#end("response.completed", {});
    const event = parsed(data);
    if (event === undefined || typeof event.type !== "string") return [data];
    const { type } = event;
    if (Object.hasOwn(ENDS, type)) return this.#end(ENDS[type], event.response);
    switch (type) {
      case "response.created":
        return this.#begin(event.response);
      case "response.in_progress":
      case "response.queued":
        return [];
      case "response.failed":
        return [JSON.stringify({ sequence_number: 0, ...event })];
      case "response.output_item.added":
        return [...this.#begin(), ...this.#add(event.item, this.#indexOf(event, this.#next))];
      case "response.output_item.done":
        return [...this.#begin(), ...this.#finish(event.item, event)];
      case "response.output_text.delta":
        return [...this.#begin(), ...this.#text(event)];
      case "response.function_call_arguments.delta":
        return this.#arguments(event, typeof event.delta === "string" ? event.delta : "");
      case "response.function_call_arguments.done": {
        const open = this.#open.get(this.#indexOf(event));
        if (open !== undefined) open.args = argsOf(event.arguments) ?? open.args;
        return [];
      }
      default:
        return [data];
    }
  }

  whole(answer: Json): string[] {
    const end = answer.status === "incomplete" ? "response.incomplete" : "response.completed";
    return [...this.#begin(answer), ...this.#end(end, answer)];
  }

  end(): string[] {
    return [];
  }

  #begin(response: unknown = {}): string[] {
    if (this.#begun) return [];
    this.#begun = true;
    const { id, created_at, model } = isObject(response) ? response : {};
    return [JSON.stringify({
      type: "response.created",
      response: { id: `${id ?? ""}`, created_at: Number(created_at) || 0, model: `${model ?? ""}` },
    })];
  }

  #add(given: unknown, index: number): string[] {
    const item = isObject(given) ? given : {};
    const type = typeof item.type === "string" ? item.type : "message";
    this.#next = Math.max(this.#next, index + 1);
    if (!ITEMS.has(type)) {
      this.#open.set(index, undefined);
      this.#onLost(`a part of the answer of an unknown kind (${type.slice(0, 40)})`);
      return [];
    }
    const id = textOf(item.id) ?? madeId(type === "function_call" ? "fc" : type);
    const call_id = textOf(item.call_id) ?? textOf(item.id) ?? madeId("call");
    this.#open.set(index, { type, id, call_id, name: `${item.name ?? ""}`, args: "" });
    const more = type === "function_call"
      ? { call_id, name: `${item.name ?? ""}`, arguments: "" }
      : {};
    return [JSON.stringify({
      type: "response.output_item.added",
      output_index: index,
      item: { ...item, type, id, ...more },
    })];
  }

  /** Ends an item, also one that begins only now. */
  #finish(given: unknown, event: Json): string[] {
    const item = isObject(given) ? given : {};
    const index = this.#indexOf(event, this.#indexById(item) ?? this.#next);
    const added = this.#open.has(index) ? [] : this.#add(item, index);
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open === undefined) return added;
    const { type, id, call_id } = open;
    this.#done.add(id).add(call_id);
    const done = (more: Json) =>
      JSON.stringify({
        type: "response.output_item.done",
        output_index: index,
        item: { ...item, type, id, ...more },
      });
    if (type === "message") {
      const text = textIn(item.content);
      const news = this.#said === "" && text !== "" ? [this.#says(id, index, text)] : [];
      return [...added, ...news, done({})];
    }
    if (type !== "function_call") return [...added, done({})];
    return [
      ...added,
      done({
        call_id,
        name: textOf(item.name) ?? open.name,
        arguments: argsOf(item.arguments) ?? open.args,
        status: item.status === "incomplete" ? "incomplete" : "completed",
      }),
    ];
  }

  #text(event: Json): string[] {
    if (typeof event.delta !== "string") return [];
    let index = this.#indexOf(
      event,
      this.#indexById({ id: event.item_id }) ?? this.#last("message"),
    );
    const begun: string[] = [];
    if (this.#open.get(index)?.type !== "message") {
      index = this.#next;
      begun.push(...this.#add({ type: "message", id: event.item_id, role: "assistant" }, index));
    }
    return [...begun, this.#says(this.#open.get(index)!.id, index, event.delta)];
  }

  #says(item_id: string, output_index: number, delta: string): string {
    this.#said += delta;
    return JSON.stringify({ type: "response.output_text.delta", item_id, output_index, delta });
  }

  #arguments(event: Json, delta: string): string[] {
    const last = this.#last("function_call");
    const index = this.#indexOf(event, this.#indexById({ id: event.item_id }) ?? last);
    const open = this.#open.get(index);
    if (open?.type !== "function_call") return [];
    open.args += delta;
    return [JSON.stringify({
      type: "response.function_call_arguments.delta",
      item_id: open.id,
      output_index: index,
      delta,
    })];
  }

  /** Ends the answer with the items that did not come before. */
  #end(type: string, given: unknown): string[] {
    if (this.#ended) return [];
    this.#ended = true;
    const response = isObject(given) ? given : {};
    const { output, usage, incomplete_details } = response;
    const out = this.#begin(response);
    for (const [index, open] of [...this.#open]) {
      if (open !== undefined) {
        out.push(...this.#finish({ type: open.type }, { output_index: index }));
      }
    }
    for (const item of Array.isArray(output) ? output.filter(isObject) : []) {
      const known = [item.id, item.call_id].some((id) => this.#done.has(`${id}`));
      // Text that was streamed under another id is the same text.
      if (known || (item.type === "message" && this.#said !== "")) continue;
      out.push(...this.#finish(item, { output_index: this.#next }));
    }
    const details = isObject(incomplete_details) ? incomplete_details : undefined;
    out.push(JSON.stringify({
      type,
      response: {
        ...response,
        incomplete_details: details && { reason: `${details.reason ?? ""}` },
        usage: isObject(usage) ? { input_tokens: 0, output_tokens: 0, ...numbersIn(usage) } : null,
      },
    }));
    return out;
  }

  #indexOf({ output_index }: Json, otherwise = this.#next - 1): number {
    const given = output_index === null || output_index === "" ? NaN : Number(output_index);
    return Number.isSafeInteger(given) && given >= 0 ? given : otherwise;
  }

  #indexById({ id, call_id }: Json): number | undefined {
    const wanted = [id, call_id].flatMap((it) => textOf(it) ?? []);
    return [...this.#open].find(([, it]) =>
      it !== undefined && (wanted.includes(it.id) || wanted.includes(it.call_id))
    )?.[0];
  }

  #last(type: string): number {
    return [...this.#open].findLast(([, it]) => it?.type === type)?.[0] ?? this.#next;
  }
}

function textOf(value: unknown): string | undefined {
  return value === undefined || value === null || value === "" ? undefined : `${value}`;
}

function argsOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return isObject(value) ? JSON.stringify(value) : undefined;
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return (Array.isArray(content) ? content.filter(isObject) : [])
    .map(({ text }) => typeof text === "string" ? text : "").join("");
}

function madeId(kind: string): string {
  return `${kind}_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
}
