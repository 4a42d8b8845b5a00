/** Reasoning and calls that models write into their text instead of the fields for them. */

/** Splits a streamed text at a mark, which may come in pieces too. */
class Mark {
  readonly #mark: string;

  constructor(mark: string) {
    this.#mark = mark;
  }

  /**
   * @returns `after`: undefined without the mark; `kept`: an end that may be the start of a mark
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
      // Only at the beginning: elsewhere the model writes about it.
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
      // Drop blank lines between the thought and the answer.
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

  /** Returns text that was kept as a possible start of a mark. */
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
 * Calls between `<tool_call>` and `</tool_call>`, as Qwen and Hermes models write them. Others than
 * those of offered tools, outside of code blocks, may only be quotes.
 */
export class SaidCalls {
  readonly #isOffered: (tool: string) => boolean;
  #inside = false;
  #kept = "";
  /** Text that may be part of a fence, and whether a code block is open. */
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

  /** Takes the last piece, and returns everything kept. */
  end(piece: string): { content: string; calls: SaidCall[] } {
    const { content, calls } = this.take(piece);
    const left = this.#kept;
    this.#kept = "";
    if (!this.#inside) return { content: content + left, calls };
    // The closing mark is missing.
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
