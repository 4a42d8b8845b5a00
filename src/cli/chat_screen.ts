/** The terminal of `svc chat`, which shows one session after the other. */
import type { Key } from "../features/tui/keys.ts";
import type { Point } from "../features/tui/point.ts";
import type { Tui } from "../features/tui/tui.ts";
import type { ThemeName } from "../protocol/themes.ts";
import { env } from "./environment.ts";
import { followsLinks } from "./links.ts";
import type { Mouse, TerminalEvent } from "./terminal_keys.ts";
import { attentionSequence, titleSequence } from "./terminal_notice.ts";
import { clipboardSequence, type Place, type Selected } from "./terminal_selection.ts";
import { Terminal } from "./terminal.ts";
import { MemoryAtRest, Ticker } from "./terminal_timers.ts";
import { Painter } from "./terminal_painter.ts";
import { type Paint, themed } from "./theme.ts";
import { type Background, themeFor, wantsColour } from "./theme_choice.ts";

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
  /** Whether there are colours. */
  readonly coloured = wantsColour(Deno.stdout, env);
  readonly #memory = new MemoryAtRest();
  readonly #ticker = new Ticker(() => {
    this.#chat?.tui.tick(Date.now());
    this.painter.request();
  });
  #theme: ThemeName = "auto";
  #background: Background | undefined;
  #paint: Paint = themed(themeFor(Deno.stdout, this.#theme, env));
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
      ...this.coloured && {
        onBackground: (background: Background | undefined) => {
          if (background === undefined || background === this.#background) return;
          this.#background = background;
          this.#repaint();
        },
      },
    }, { term: env("TERM") ?? "", mouse: false });
    this.painter = new Painter({
      draw: () => {
        const { tui } = this.#chat!;
        tui.size = this.terminal.size();
        return tui.screen();
      },
      write: (text) => this.terminal.write(text),
      paint: () => this.#paint,
      links: this.coloured && followsLinks(env),
      onPainted: () => {
        this.#chat?.painted();
        this.#name();
        this.#memory.used();
        this.#ticker.painted(this.#chat?.tui.moves ?? false);
      },
    });
  }

  set chat(chat: ShownChat) {
    this.#chat = chat;
    chat.tui.focused = this.#focused ?? true;
    this.painter.request();
    this.release();
  }

  /** Shows everything in other colours. */
  set theme(theme: ThemeName) {
    if (theme === this.#theme) return;
    this.#theme = theme;
    this.#repaint();
  }

  #repaint(): void {
    this.#paint = themed(themeFor(Deno.stdout, this.#theme, env, this.#background));
    this.painter.forget();
  }

  /**
   * Keeps the keys for what comes next: another session, a list that is loading, a message that is
   * fetched.
   *
   * @param first the key that comes before them
   */
  hold(first?: Key): void {
    this.#held ??= [];
    if (first !== undefined) this.#held.unshift(first);
  }

  /** Gives the keys that were kept to what is on the screen. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const [n, input] of held.entries()) {
      // What comes next may be late again.
      if (this.#keep(held.slice(n))) return;
      this.#take(input);
    }
  }

  /** Puts keys behind those that are kept. @returns whether any are */
  #keep(inputs: readonly TerminalEvent[]): boolean {
    this.#held?.push(...inputs);
    return this.#held !== undefined;
  }

  /** Tells of something while the person looks at another window. */
  tell(text: string): void {
    if (this.#focused === false) void this.terminal.write(attentionSequence(text, env));
  }

  async close(): Promise<void> {
    this.#memory.close();
    this.#ticker.close();
    this.painter.close();
    await this.terminal.close();
  }

  #take(input: TerminalEvent): void {
    const chat = this.#chat;
    // What does not come can be left.
    if (input.type === "named" && input.name === "ctrl-c") this.#held = undefined;
    if (this.#held !== undefined && input.type !== "focus") this.#held.push(input);
    else if (input.type === "focus") {
      this.#focused = input.focused;
      if (chat !== undefined) chat.tui.focused = input.focused;
    } else if (input.type === "mouse") this.#point(input);
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
    if (this.#chat === undefined || !this.terminal.takesCommands) return;
    const { session, approvals } = this.#chat.tui.model;
    const mark = approvals.length > 0 ? "?" : session.turn ? "…" : "";
    const title = titleSequence(session.title, mark);
    if (title === this.#title) return;
    this.#title = title;
    void this.terminal.write(title);
  }
}
