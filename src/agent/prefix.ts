/**
 * What every model call of every session begins with, byte for byte: the system prompt and the
 * tools sorted by name. Providers cache it, so a session's first call is cheap once another's warmed
 * it. Nothing of a session may stand in it, not even its directory.
 */
import type { Model, ToolSpec, Usage } from "../models/model.ts";

export const SYSTEM_PROMPT =
  `You are an agent that works in one directory of the person's own machine.
Use the tools to read and change files and to run commands there; paths are relative to it.
Look at what is there before you change it, and prefer small changes that fit what you found.
Some calls wait for the person's approval; when one is denied, do not try it another way.
The person may write to you while you work: take it into account at the next step.
Check your work before you report it, and say plainly what you did and what you did not.`;

/** How far the provider served a warmed prefix from its cache. */
export interface CacheMeasure {
  warm: Usage;
  workers: Usage[];
  /** Share of the workers' input tokens that came from the cache, 0 to 1. */
  hit_rate: number;
}

/** Share of the workers' input that comes from the cache where it works as it should. */
export const HIT_RATE_MIN = 0.8;

/**
 * Has a provider put the shared prefix into its cache, with one short call.
 *
 * @throws {ModelError} when the call fails.
 */
export function warmPrefix(
  model: Model,
  tools: readonly ToolSpec[],
  signal: AbortSignal,
): Promise<Usage> {
  return ask(model, tools, signal, "Answer with the word ready.");
}

async function ask(
  model: Model,
  tools: readonly ToolSpec[],
  signal: AbortSignal,
  text: string,
): Promise<Usage> {
  const messages = [{ role: "user" as const, text }];
  for await (const part of model.stream({ system: SYSTEM_PROMPT, messages, tools, signal })) {
    if (part.type === "finish") return part.usage;
  }
  throw new Error("the answer had no end");
}

/**
 * Warms the shared prefix with one call, then has several workers use it at once.
 *
 * @param count number of concurrent workers.
 * @throws {ModelError} when a call fails.
 */
export async function measureCache(
  model: Model,
  tools: readonly ToolSpec[],
  count: number,
  signal: AbortSignal,
): Promise<CacheMeasure> {
  const warm = await warmPrefix(model, tools, signal);
  const workers = await Promise.all(
    Array.from(
      { length: count },
      (_, n) => ask(model, tools, signal, `Answer with the number ${n + 1}.`),
    ),
  );
  const sum = (field: "tokens_cached" | "tokens_in") =>
    workers.reduce((total, usage) => total + usage[field], 0);
  return { warm, workers, hit_rate: sum("tokens_cached") / Math.max(1, sum("tokens_in")) };
}
