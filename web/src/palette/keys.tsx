/** The list of keys. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { APPLE, LETTER, MODIFIER } from "../ui/keys.ts";

const ALT = APPLE ? "⌥" : "Alt+";

/** By where they work: what is pressed, then what it does; parted by a tab. */
const KEYS = `Everywhere
${MODIFIER}K\tSearch or run: actions, sessions, pages
? ${MODIFIER}/\tThese keys; ? while you do not type
↑ ↓ Enter\tChoose from a list or menu
Esc\tClose what is open
${MODIFIER}Enter\tSend a form with a long text

Message box
Enter ${MODIFIER}Enter\tSend; the button below switches to ${MODIFIER}Enter alone
Shift+Enter\tNew line
${ALT}Enter\tQueue for after this turn
@ / !\tFiles; commands and skills; your own shell command
↑ ↓\tYour last messages, if the box is empty
${LETTER}R\tYour earlier messages, in all sessions
Esc\tHide the answer of a command

Conversation
Esc Esc\tStop the turn
${MODIFIER}F\tSearch; Enter and Shift+Enter for the next and previous place
${LETTER}O\tOpen all cards, or fold them

Question, while you do not type
y n\tAllow, deny
a\tChoose what to allow always
i\tSay what to do instead
1–9\tChoose an option

Changes
↑ ↓ PageUp PageDown Home End\tMove
← → Enter Space\tFold, open
n p\tNext, previous file
Shift+↑ Shift+↓\tChoose lines
Enter c\tComment on lines
${MODIFIER}Enter Esc\tKeep the comment

Files
↑ ↓ Home End\tMove; letters go to a name
← → Enter Space\tFold, open

New session
Tab\tGo into a directory of the list`;

/** All keys of the page, by where they work. */
export function Keys() {
  const box = useRef<HTMLDivElement>(null);
  // Also where it takes the place of a box that had the focus.
  useLayoutEffect(() => box.current!.focus(), []);
  return (
    <div ref={box} class="keys" tabIndex={0} role="group" aria-label="Keys" data-focus>
      {KEYS.split("\n\n").map((group) => {
        const [title, ...rows] = group.split("\n");
        return (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map((row) => {
                const [keys, what] = row.split("\t");
                return (
                  <div key={row}>
                    <dt>{keys.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}</dt>
                    <dd>{what}</dd>
                  </div>
                );
              })}
            </dl>
          </section>
        );
      })}
    </div>
  );
}
