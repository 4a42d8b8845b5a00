/** The menus of the composer: files after `@`, commands and skills after `/`. */
import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { type Token, tokenAt } from "../../../src/base/mention.ts";
import type { Place, Suggestion } from "../../../src/features/chat_commands/suggestions.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { useApp } from "../app.ts";
import { moved } from "../ui/option_list.tsx";

interface Menu {
  token: Token;
  options: readonly Suggestion[];
  at: number;
}

export interface Suggestions {
  /** Undefined while there is nothing to offer. */
  readonly menu: Signal<Menu | undefined>;
  /** Looks at the word before the cursor. */
  look(): void;
  pick(option: Suggestion): void;
  close(): void;
  /** Whether the menu takes a key. */
  takes(event: KeyboardEvent): boolean;
}

const FILES_AFTER_MS = 60;

/** @param place where they are looked for; without it there are none */
export function useSuggestions(
  place: Place | undefined,
  input: RefObject<HTMLTextAreaElement>,
  write: (text: string) => void,
): Suggestions {
  const app = useApp();
  const menu = useSignal<Menu | undefined>(undefined);
  /** Answers for an older word come too late. */
  const asked = useRef(0);
  /** What the daemon was asked last: it looks through a large directory once at a time. */
  const asking = useRef<Promise<unknown>>(Promise.resolve());
  const close = () => {
    asked.current++;
    menu.value = undefined;
  };
  const look = async () => {
    const { value, selectionStart, selectionEnd } = input.current!;
    const token = selectionStart === selectionEnd ? tokenAt(value, selectionStart) : undefined;
    if (token === undefined || place === undefined) return close();
    const mine = ++asked.current;
    const was_open = menu.peek() !== undefined;
    try {
      const { suggestionsFor } = await app.load(() => import("../on_demand.ts"));
      if (token.kind === "file") await new Promise((done) => setTimeout(done, FILES_AFTER_MS));
      await asking.current;
      if (mine !== asked.current) return;
      const ask: CallVerb = (name, params) => app.client.ask(name, params);
      const answer = suggestionsFor(ask, place, token);
      asking.current = answer.catch(() => {});
      const options = await answer;
      if (mine !== asked.current) return;
      menu.value = options.length === 0 ? undefined : { token, options, at: 0 };
      if (!was_open && options.length > 0) {
        app.announcer.say(`${options.length} suggestions. Arrow keys choose, Enter takes one.`);
      }
    } catch {
      // The message can be written without a menu.
      if (mine === asked.current) close();
    }
  };
  const pick = ({ insert }: Suggestion) => {
    const { token } = menu.peek()!;
    const box = input.current!;
    close();
    box.focus();
    // More of the word may have been typed since the menu was made.
    const now = tokenAt(box.value, box.selectionStart);
    const end = now?.start === token.start ? now.end : token.end;
    box.setRangeText(insert, token.start, end, "end");
    write(box.value);
    // What goes on, such as a directory.
    if (insert.endsWith("/")) look();
  };
  const takes = (event: KeyboardEvent) => {
    const open = menu.peek();
    const { key, shiftKey, ctrlKey, metaKey } = event;
    if (open === undefined || ctrlKey || metaKey) return false;
    const { options, at, token } = open;
    const to = moved(key, at, options.length);
    if (to !== undefined) menu.value = { ...open, at: to };
    else if (key === "Escape") close();
    else if ((key === "Enter" || key === "Tab") && !shiftKey) {
      const written = input.current!.value.slice(token.start, token.end);
      // What is there in full is sent.
      if (key === "Enter" && options[at].insert.trimEnd() === written) {
        close();
        return false;
      }
      pick(options[at]);
    } else {
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) close();
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { menu, look, pick, close, takes };
}
