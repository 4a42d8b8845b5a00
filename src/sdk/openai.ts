export { OpenAIChatLanguageModel } from "@ai-sdk/openai/internal";
