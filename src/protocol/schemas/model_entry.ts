/** Models in daemon.toml; loaded only if there are any. */
import * as z from "zod";
import { EFFORTS } from "../effort.ts";

/** Settings for all models of a provider, or single ones. */
const overrides = () => ({
  context_tokens: z.int().min(4_000).max(100_000_000).optional().describe(
    "Limit of a conversation with its answer",
  ),
  output_tokens: z.int().min(256).max(10_000_000).optional().describe("Limit of an answer"),
  images: z.boolean().optional().describe(
    "Whether the models accept images; by default, for a known server, what the catalogue says",
  ),
  efforts: z.array(z.enum(EFFORTS)).optional().describe(
    "The levels of effort that the models accept",
  ),
});

export const modelOverridesSchema = () => z.strictObject(overrides());

/** `[models.<name>]` in daemon.toml. */
export const modelEntrySchema = () =>
  z.strictObject({
    kind: z.enum(["anthropic", "openai", "google", "openai-compatible"]).optional().describe(
      "Absent: the entry changes the preset of that name; otherwise it replaces it",
    ),
    base_url: z.string().refine(isHttpUrl, "must be an http:// or https:// address").optional()
      .describe("The address of the server; default: the provider's"),
    api: z.enum(["responses", "chat"]).optional().describe(
      'Which of OpenAI\'s interfaces, for kind "openai"',
    ),
    api_key_env: z.string().optional().describe("The environment variable that holds the key"),
    small: z.string().min(1).optional().describe(
      "A fast and cheap model of the provider, which names sessions",
    ),
    ...overrides(),
    models: z.record(z.string(), modelOverridesSchema()).optional().describe(
      "Settings for single models, by the provider's names for them",
    ),
  });

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}
