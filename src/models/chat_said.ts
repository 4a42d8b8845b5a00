/** What models write into their text in place of the fields that are made for it. */

/** Splits a text that comes in pieces at a mark, which may come in pieces too. */
class Mark {
  readonly #mark: string;

  constructor(mark: string) {
    this.#mark = mark;
  }

  /**
   * @returns what comes before the mark and what comes after it; `after` is undefined where the mark
   * is not there, and `kept` is an end that may be the beginning of one
   */
  split(text: string): { before: string; after?: string; kept: string } {
    const at = text.indexOf(this.#mark);
    if (at >= 0) {
      return { before: text.slice(0, at), after: text.slice(at + this.#mark.length), kept: "" };
    }
    for (let length = Math.min(this.#mark.length - 1, text.length); length > 0; length--) {
      if (this.#mark.startsWith(text.slice(-length))) {
        return { before: text.slice(0, -length), kept: text.slice(-length) };
      }
    }
    return { before: text, kept: "" };
  }
}

const THINK = new Mark("<think>");
const THOUGHT = new Mark("</think>");
const CALL = new Mark("<tool_call>");
const CALLED = new Mark("</tool_call>");

/** Reasoning at the beginning of an answer, between `<think>` and `</think>`. */
export class SaidThoughts {
  #state: "start" | "thinking" | "thought" | "done" = "start";
  #kept = "";

  /** Takes a piece of the answer's text. */
  take(piece: string): { thought: string; text: string } {
    let text = this.#kept + piece;
    this.#kept = "";
    if (this.#state === "start") {
      const { before, after, kept } = THINK.split(text);
      // Only at the beginning: anywhere else it is what the model writes about.
      if (before.trim() !== "") this.#state = "done";
      else if (after === undefined) {
        this.#kept = kept === "" ? "" : text;
        return { thought: "", text: kept === "" ? text : "" };
      } else {
        this.#state = "thinking";
        text = after;
      }
    }
    if (this.#state === "thought") {
      // Blank lines between the thought and the answer belong to neither.
      text = text.trimStart();
      if (text !== "") this.#state = "done";
    }
    if (this.#state === "thought" || this.#state === "done") return { thought: "", text };
    const { before, after, kept } = THOUGHT.split(text);
    this.#kept = kept;
    if (after === undefined) return { thought: before, text: "" };
    const text_after = after.trimStart();
    this.#state = text_after === "" ? "thought" : "done";
    return { thought: before, text: text_after };
  }

  /** What was kept in case that it begins a mark. */
  end(): string {
    const kept = this.#state === "thinking" ? "" : this.#kept;
    this.#kept = "";
    return kept;
  }
}

interface SaidCall {
  name: string;
  arguments: string;
}

/**
 * Calls as text, between `<tool_call>` and `</tool_call>`, as models of Qwen and Hermes write them.
 * Only calls of tools that were offered, outside of code blocks: anything else, the model may only
 * quote.
 */
export class SaidCalls {
  readonly #isOffered: (tool: string) => boolean;
  #inside = false;
  #kept = "";
  /** The text so far that may be part of a fence, and whether a code block is open. */
  #line = "";
  #fenced = false;

  /** @param isOffered whether the request offered a tool of that name */
  constructor(isOffered: (tool: string) => boolean) {
    this.#isOffered = isOffered;
  }

  /** Takes a piece of the answer's text. */
  take(piece: string): { content: string; calls: SaidCall[] } {
    let text = this.#kept + piece;
    this.#kept = "";
    let content = "";
    const calls: SaidCall[] = [];
    for (;;) {
      const { before, after, kept } = (this.#inside ? CALLED : CALL).split(text);
      if (after === undefined) {
        this.#kept = this.#inside ? text : kept;
        if (this.#inside) return { content, calls };
        this.#look(before);
        return { content: content + before, calls };
      }
      if (this.#inside) {
        const call = this.#callIn(before);
        if (call === undefined) content += `<tool_call>${before}</tool_call>`;
        else calls.push(call);
      } else {
        content += before;
        this.#look(before);
      }
      this.#inside = !this.#inside;
      text = after;
    }
  }

  /** Takes the last piece, and what is left. */
  end(piece: string): { content: string; calls: SaidCall[] } {
    const { content, calls } = this.take(piece);
    const left = this.#kept;
    this.#kept = "";
    if (!this.#inside) return { content: content + left, calls };
    // The mark at its end is missing.
    this.#inside = false;
    const call = this.#callIn(left);
    return call === undefined
      ? { content: `${content}<tool_call>${left}`, calls }
      : { content, calls: [...calls, call] };
  }

  /** Follows the fences of code blocks. */
  #look(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop()!.slice(0, 100);
    for (const line of lines) if (/^\s*```/.test(line)) this.#fenced = !this.#fenced;
  }

  #callIn(text: string): SaidCall | undefined {
    if (this.#fenced || /^\s*```/.test(this.#line)) return undefined;
    try {
      const { name, arguments: args = {} } = JSON.parse(text);
      if (typeof name !== "string" || !this.#isOffered(name)) return undefined;
      return { name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
    } catch {
      return undefined;
    }
  }
}
