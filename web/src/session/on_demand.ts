/** What a session needs once somebody acts. One file, as each has a cost of its own. */
export * from "./chat_commands.ts";
export { Configure } from "./configure.tsx";
export { suggestionsFor } from "../../../src/features/chat_commands/suggestions.ts";
