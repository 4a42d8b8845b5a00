import { command, JSON_FLAG, on, optional, spec, TEXT } from "../define.ts";
import { SUMMARIES } from "./summaries.ts";

export const LOGIN = spec({
  summary: SUMMARIES.login,
  about: `Saves an API key in ~/.svc/keys.json, which only you can read. A running daemon uses it at
once. A key in the daemon's environment, such as ANTHROPIC_API_KEY, takes precedence. For
OpenRouter, the browser opens and OpenRouter issues a key.`,
  args: { provider: optional(TEXT, "The provider; asked for by default") },
  flags: {
    key: on("Ask for a key instead of opening the browser"),
    "key-stdin": on("Read the key from standard input instead of asking for it"),
    "no-check": on("Save the key without asking the provider whether it is valid"),
  },
  examples: [
    ["svc login anthropic", "Ask for the key, without showing it"],
    ["svc login openrouter", "Open the browser, and save the key that OpenRouter issues"],
    ["svc login openai --key-stdin < key.txt", "Read the key from a file"],
  ],
  notes: "The key is sent only to the address that the provider has at the time of the login.",
});

export const LOGOUT = spec({
  summary: SUMMARIES.logout,
  about: "Removes the key that `svc login` saved. It stays valid at the provider.",
  args: { provider: optional(TEXT, "The provider; asked for by default") },
});

export const MODELS = spec({
  summary: SUMMARIES.models,
  about:
    `Asks each provider that has a key, and the servers of Ollama and LM Studio on this machine.
Lists providers without a key with how to log in.`,
  args: { provider: optional(TEXT, "Only this provider") },
  flags: { json: JSON_FLAG },
  notes: "Prices are in USD per million tokens.",
});

export const login = command(LOGIN, async () => (await import("../login.ts")).login);

export const logout = command(LOGOUT, async () => (await import("../login.ts")).logout);

export const models = command(MODELS, async () => (await import("../models.ts")).run);
