/**
 * A model server that does what the last message says: the message is a JSON list of answers, which
 * are given one after the other; then it says that it is done. A process of its own, as it lives
 * through many tests. It prints `{"url":…}`.
 */
import type { Answer } from "../support/model_servers.ts";
import { startOpenAiServer } from "../support/model_servers.ts";

const server = startOpenAiServer(({ messages }) => {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const message = messages[last];
  const answers: Answer[] = message.role === "user" ? JSON.parse(message.text) : [];
  const given = messages.slice(last).filter(({ role }) => role === "assistant").length;
  return answers[given] ?? { text: "Done." };
}, { open: true, capture: false });
console.log(JSON.stringify({ url: server.url }));
