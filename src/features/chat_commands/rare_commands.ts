/** Commands that few chats use: they are loaded with the first one. */
export { runBackground } from "./background_command.ts";
export { runPermissions, runTrust } from "./rules_command.ts";
export { runShow } from "./show_command.ts";
