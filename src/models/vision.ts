/** Which models accept images and PDF documents. */
import type { MediaType } from "../protocol/attachments.ts";
import { byNameStart } from "./limits.ts";
import type { ProviderKind } from "./provider_address.ts";

/** For models that the catalogue lacks, by the longest matching start of the name. */
const SEES: Readonly<Record<string, boolean>> = {
  "claude-": true,
  "claude-2": false,
  "claude-instant": false,
  "gpt-4.1": true,
  "gpt-4-turbo": true,
  "gpt-4o": true,
  "gpt-5": true,
  "o1": true,
  "o1-mini": false,
  "o1-preview": false,
  "o3": true,
  "o3-mini": false,
  "o4-mini": true,
  "gemini-": true,
  "gemma3": true,
  "gemma-3": true,
  "gemma3:1b": false,
  "gemma3:270m": false,
  "gemma-3-1b": false,
  "grok-4": true,
  "llama3.2-vision": true,
  "llama-4": true,
  "llama4": true,
  "llava": true,
  "minicpm-v": true,
  "mistral-small3": true,
  "mistral-small-3": true,
  "mistral-medium-3": true,
  "pixtral": true,
  "qwen2.5vl": true,
  "qwen2.5-vl": true,
  "qwen3-vl": true,
};

const IMAGES: readonly MediaType[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export interface VisionOptions {
  kind: ProviderKind;
  /** The provider's name in model ids. */
  provider: string;
  model: string;
  /** From daemon.toml or the catalogue; default: by the model's name. */
  images?: boolean;
}

/** Returns the media that a model accepts. */
export function acceptedMedia(
  { kind, provider, model, images = seesByName(model) }: VisionOptions,
): readonly MediaType[] {
  if (!images) return [];
  // Gemini does not accept GIF.
  const types = kind === "google" ? IMAGES.filter((type) => type !== "image/gif") : IMAGES;
  // Of the compatible servers, only OpenRouter is known to read documents.
  const documents = kind !== "openai-compatible" || provider === "openrouter";
  return documents ? [...types, "application/pdf"] : types;
}

/** Reports whether a model of that name accepts images. */
export function seesByName(model: string): boolean {
  return byNameStart(model, SEES) ?? false;
}
