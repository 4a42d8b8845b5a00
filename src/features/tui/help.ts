/** What the keys do, as the help shows it; fits 24 rows. */
export const HELP: readonly string[] = [
  "Enter  send           Alt-Enter, Ctrl-J  new line      Up, Down  history",
  "Esc    cancel the turn, go back          Ctrl-C  cancel; again: leave",
  "Ctrl-D leave (session continues)        Ctrl-Z  suspend    Ctrl-L redraw",
  "Ctrl-A E  line start, end   Ctrl-U K W  delete to start, to end, a word",
  "PageUp PageDown  scroll     Home End  (empty message) first and last line",
  "Ctrl-O  all output of calls, or a part   ?  (empty message) this help",
  "Tab    go to the question, the lanes, the transcript, the message",
  "1-9    (empty message) show that lane; Esc goes back",
  "",
  "A question     y allow    a always allow    n deny    v show it in full",
  "A lane         Enter show    k kill    p pin or unpin",
  "The transcript Up Down scroll by line",
  "",
  "/pause /resume /cancel   the session, the turn   /compact  the conversation",
  "/model [NAME]   /approval [MODE]   /rename TITLE   settings of the session",
  "/kill  end the session permanently       /quit  leave",
];
