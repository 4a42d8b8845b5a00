export { OpenAICompatibleChatLanguageModel } from "@ai-sdk/openai-compatible";
