/** Texts about compactions. */
import type { Compacted } from "./events.ts";

export function compactedText(data: Compacted): string {
  const { tokens_before, tokens_after, problem, reason, attachments } = data;
  if (reason === "attachments") {
    const which = attachments?.refused ? "refused" : "older";
    return `${which} images and documents were left out of the conversation`;
  }
  const amount = (tokens: number) =>
    tokens < 1000 ? String(tokens) : `${Math.round(tokens / 1000)}k`;
  const text = `the conversation was shortened from about ${amount(tokens_before)} to ` +
    `${amount(tokens_after)} tokens`;
  return problem === undefined ? text : `${text}, without a summary: ${problem}`;
}

export function contextText({ used, limit }: { used: number; limit: number }): string {
  return `context ${Math.round(100 * used / limit)}%`;
}
