/** The terminal of `svc chat`, which shows one session after the other. */
import type { Key } from "../features/tui/keys.ts";
import type { Point } from "../features/tui/point.ts";
import type { Tui } from "../features/tui/tui.ts";
import { painter as styles, wantsColour } from "./chat_render.ts";
import { env } from "./environment.ts";
import type { Mouse, TerminalEvent } from "./terminal_keys.ts";
import { attentionSequence, titleSequence } from "./terminal_notice.ts";
import { clipboardSequence, type Place, type Selected } from "./terminal_selection.ts";
import { Terminal } from "./terminal.ts";
import { MemoryAtRest } from "./terminal_timers.ts";
import { Painter } from "./terminal_painter.ts";

/** The session that is on the screen. */
interface ShownChat {
  readonly tui: Tui;
  press(key: Key): void;
  point(at: Point): void;
  /** A frame is on the screen. */
  painted(): void;
}

/** How a person has left a session. */
export interface Left {
  code: number;
  /** The session to show instead. */
  session_id?: string;
}

/** The terminal, which shows one session after the other. */
export class ChatScreen {
  readonly left = Promise.withResolvers<Left>();
  readonly terminal: Terminal;
  readonly painter: Painter;
  readonly #memory = new MemoryAtRest();
  #chat: ShownChat | undefined;
  #pressed: Place | undefined;
  #selected: Selected | undefined;
  /** Whether the window has the focus; undefined where terminals do not tell. */
  #focused: boolean | undefined;
  #title = "";
  #held: TerminalEvent[] | undefined;

  constructor() {
    this.terminal = new Terminal({
      onInput: (input) => this.#take(input),
      onRedraw: () => this.painter.forget(),
      onLeave: (code) => this.left.resolve({ code }),
    }, { term: env("TERM") ?? "", mouse: true });
    this.painter = new Painter({
      draw: () => {
        const { tui } = this.#chat!;
        tui.size = this.terminal.size();
        return tui.screen();
      },
      write: (text) => this.terminal.write(text),
      paint: styles(wantsColour(Deno.stdout)),
      onPainted: () => {
        this.#chat?.painted();
        this.#name();
        this.#memory.used();
      },
    });
  }

  set chat(chat: ShownChat) {
    this.#chat = chat;
    this.painter.request();
    this.release();
  }

  /** Keeps the keys for the session that comes next. */
  hold(): void {
    this.#held ??= [];
  }

  /** Gives the keys that were kept to the session that is on the screen. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const input of held) this.#take(input);
  }

  /** Tells of something while the person looks at another window. */
  tell(text: string): void {
    if (this.#focused === false) void this.terminal.write(attentionSequence(text, env));
  }

  async close(): Promise<void> {
    this.#memory.close();
    this.painter.close();
    await this.terminal.close();
  }

  #take(input: TerminalEvent): void {
    const chat = this.#chat;
    if (this.#held !== undefined && input.type !== "focus") this.#held.push(input);
    else if (input.type === "focus") this.#focused = input.focused;
    else if (input.type === "mouse") this.#point(input);
    else {
      this.#select(undefined);
      chat?.press(input);
    }
    this.painter.hurry();
  }

  #point({ action, row, col, by }: Mouse): void {
    switch (action) {
      case "wheel":
        this.#chat?.point({ row, col, by });
        break;
      case "press":
        this.#select(undefined);
        this.#pressed = { row, col };
        break;
      case "drag":
        if (this.#pressed !== undefined) {
          this.#select({ from: this.#pressed, to: { row, col } });
        }
        break;
      case "release":
        if (this.#selected !== undefined) this.#copy();
        else if (this.#pressed !== undefined) this.#chat?.point({ row, col, by: 0 });
        this.#pressed = undefined;
    }
  }

  #copy(): void {
    const text = this.painter.selectedText;
    this.#select(undefined);
    if (text.trim() === "") return;
    void this.terminal.write(clipboardSequence(text));
    this.#chat?.tui.notice(`${text.length} characters copied`);
  }

  #select(selected: Selected | undefined): void {
    if (selected === undefined && this.#selected === undefined) return;
    this.#selected = this.painter.selected = selected;
  }

  /** Names the window after the session. */
  #name(): void {
    if (this.#chat === undefined) return;
    const { session, approvals } = this.#chat.tui.model;
    const mark = approvals.length > 0 ? "?" : session.turn ? "…" : "";
    const title = titleSequence(session.title, mark);
    if (title === this.#title) return;
    this.#title = title;
    void this.terminal.write(title);
  }
}
