/** What is needed once somebody asks for it. One file, as each has a cost of its own. */
import "./main.tsx";
export * from "./session/chat_commands.ts";
export { Configure } from "./session/configure.tsx";
export { suggestionsFor } from "../../src/features/chat_commands/suggestions.ts";
export { Palette } from "./palette/palette.tsx";
export { default as Said } from "./sessions/said.tsx";
export { default as Welcome } from "./welcome.tsx";
