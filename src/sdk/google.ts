export { GoogleLanguageModel } from "@ai-sdk/google/internal";
