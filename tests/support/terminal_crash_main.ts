/** Takes the terminal over and fails in a way that nobody catches. */
import { Terminal } from "../../src/cli/terminal.ts";

const terminal = new Terminal({ onKey: () => {}, onRedraw: () => {}, onLeave: () => {} });
await terminal.write("a screen");
setTimeout(() => {
  throw new Error("nobody catches this");
});
