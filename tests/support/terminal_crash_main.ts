/** Takes the terminal over and fails in a way that nobody catches. */
import { Terminal } from "../../src/cli/terminal.ts";

const terminal = new Terminal(
  { onInput: () => {}, onRedraw: () => {}, onLeave: () => {} },
  { term: "xterm-256color", mouse: true },
);
await terminal.write("a screen");
setTimeout(() => {
  throw new Error("nobody catches this");
});
