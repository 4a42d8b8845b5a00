export { AnthropicLanguageModel } from "@ai-sdk/anthropic/internal";
