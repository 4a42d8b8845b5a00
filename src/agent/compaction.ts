/**
 * Shortens a conversation. Old images and documents go first, then old outputs of tools; if that is
 * not enough, the model summarizes everything but the newest messages. One event at the end makes
 * the change, so that an interrupted compaction has no effect.
 */
import { messageOf } from "../protocol/errors.ts";
import type { Compacted, SessionEvent } from "../protocol/events.ts";
import { runLobe } from "../session/lobe.ts";
import type { TurnSession } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { toldAgain } from "../session/repeated_context.ts";
import { type Item, itemSeq } from "../session/transcript_items.ts";
import { Transcript } from "../session/transcript.ts";
import { allAttachments, filesFor, oldAttachments, refusedAttachments } from "./attachments.ts";
import { itemTokens, limitsFor, prefixTokens, requestTokens, roomOf, tokensOf } from "./context.ts";
import type { Limits } from "../models/limits.ts";
import {
  type Model,
  ModelError,
  type ModelRequest,
  type TooLong,
  type Usage,
} from "../models/model.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import { withRetries } from "./retries.ts";
import type { Tool } from "./tool.ts";

export interface CompactionParts {
  session: TurnSession;
  turn: Turn;
  model: Model;
  limits: Limits;
  tools: readonly Tool[];
  /** Returns the cost of a model call, in USD. */
  cost(usage: Usage): number;
  new_lane_id(): string;
}

/** Why a conversation is shortened, and what the provider reported if it refused it. */
export interface Cause {
  reason: Compacted["reason"];
  refused?: TooLong;
}

/** The decision without the estimates. */
type Plan = Omit<Compacted, "reason" | "tokens_before" | "tokens_after" | "seen_seq" | "learned">;

/** Parts of the context for the newest outputs, the newest messages and the summary. */
const OUTPUTS_PART = 1 / 6;
const TAIL_PART = 1 / 4;
const SUMMARY_PART = 1 / 8;
const SAID_PART = 1 / 16;
/** How many of the person's older messages are kept word for word. */
const SAID_MAX = 3;
/** The part of the conversation that a model call must remove to be worth it. */
const WORTH_PART = 1 / 10;
/** A plan that leaves more than this part of the conversation is not used. */
const WORTH_LEFT = 0.95;
/** How often to ask for a summary of less when the provider refuses the request. */
const SUMMARY_TRIES = 4;
/** The factor by which to shrink a conversation that was refused without a limit. */
const REFUSED_PART = 0.8;
/** The longest text in a summarized part, in characters, and the most parts. */
const PART_TEXT_MAX = 4_096;
const PARTS_MAX = 16;
/**
 * If nothing else is enough, single texts are cut to these lengths, in characters, and then rules
 * and facts.
 */
const TEXT_MAX = [32_768, 8_192, 2_048, 512];
const TOLD_MAX = [16_384, 4_096, 1_024];
/** Tokens of the request for a summary. */
const QUESTION_TOKENS = 500;
const FILES_MAX = 200;
const LABEL = "compaction";

/**
 * Shortens the conversation.
 *
 * @returns the recorded event data; undefined if nothing is worth removing
 * @throws the turn's reason if it is stopped meanwhile, without a change
 */
export async function compact(
  parts: CompactionParts,
  cause: Cause,
): Promise<Compacted | undefined> {
  const { reason, refused } = cause;
  const { session, turn, model } = parts;
  if (!parts.limits.compacts) return undefined;
  const transcript = await session.transcript();
  const learned = refused?.limit;
  const limits = limitsFor(parts.limits, learned ?? transcript.learnedLimit(model.id));
  const sizes = new Sizes(transcript, parts.tools, learned);
  const plan = await decide({ ...parts, limits, transcript, sizes, cause });
  if (plan === undefined) return undefined;
  turn.soft.throwIfAborted();
  const data: Compacted = {
    reason,
    tokens_before: Math.round(sizes.before),
    tokens_after: Math.round(sizes.after(plan)),
    seen_seq: session.published_seq,
    ...plan,
    ...(learned === undefined ? {} : { learned: { model: model.id, tokens: learned } }),
  };
  await session.emit("session.compacted", data);
  return data;
}

interface Context extends CompactionParts {
  transcript: Transcript;
  sizes: Sizes;
  cause: Cause;
}

async function decide(context: Context): Promise<Plan | undefined> {
  const { limits, transcript, sizes, cause: { reason, refused } } = context;
  const room = roomOf(limits);
  const least = Math.min(room, sizes.before);
  const { items } = transcript;
  const attachments = oldAttachments(items, least * OUTPUTS_PART);
  if (reason === "attachments") {
    const which = refused === undefined ? attachments : refusedAttachments(items);
    return which && { attachments: which };
  }
  const again = toldAgain(items);
  const told: Plan = again.size > 0 ? { told_again: true } : {};
  if (reason !== "asked" && (attachments !== undefined || told.told_again)) {
    const plan = { ...told, attachments };
    if (sizes.after(plan) <= least / 2) return plan;
  }
  const outputs_seq = oldOutputs(items, least * OUTPUTS_PART, sizes);
  if (reason !== "asked" && outputs_seq !== undefined) {
    const plan = { ...told, attachments, outputs_seq };
    if (sizes.after(plan) <= least / 2) return plan;
  }
  const begin = tailOf(transcript.items, least * TAIL_PART, sizes);
  const older = transcript.items.slice(0, begin);
  // Messages of svc stay, and a summary alone is not summarized again.
  const goes = older.filter((item) => !("told" in item));
  const worth = sizes.of(goes) > sizes.before * WORTH_PART &&
    !goes.every((item) => "summary" in item);
  const plan = { ...told, ...worth ? await leaveOut(context, goes, least) : {} };
  // If the newest messages alone are too long, they are cut too.
  const enough = reason === "too_long" ? least * 0.75 : room;
  const tries: Plan[] = [plan, { ...plan, attachments }, { ...plan, attachments, outputs_seq }];
  const all = allAttachments(items);
  for (const text_max of TEXT_MAX) {
    tries.push({ ...plan, attachments: all, outputs_seq, text_max });
  }
  const text_max = TEXT_MAX.at(-1);
  for (const told_max of TOLD_MAX) {
    tries.push({ ...plan, attachments: all, outputs_seq, text_max, told_max });
  }
  const fits = tries.find((it) => sizes.after(it) <= enough) ?? tries.at(-1)!;
  return sizes.after(fits) < sizes.before * WORTH_LEFT ? fits : undefined;
}

/** Returns the seq up to which outputs are old; the newest seen ones that fit are kept. */
function oldOutputs(items: readonly Item[], keep: number, sizes: Sizes): number | undefined {
  const steps = items.flatMap((item) => "step" in item ? [item.step] : []);
  // The model has not yet seen the results of the last step.
  const seen = steps.slice(0, -1).flatMap(({ results }) => results);
  let tokens = 0;
  for (const { seq, output } of seen.toReversed()) {
    tokens += sizes.ofText(output);
    if (tokens > keep && seq !== undefined) return seq;
  }
  return undefined;
}

/** Returns the index of the newest items, which are kept word for word. */
function tailOf(items: readonly Item[], keep: number, sizes: Sizes): number {
  const last = items.findLastIndex((item) => "step" in item);
  const step = items[last];
  // Results that the model has not seen, and later messages, are always kept.
  const unseen = step !== undefined && "step" in step && step.step.calls.length > 0;
  let begin = unseen ? last : last + 1;
  let tokens = sizes.of(items.slice(begin));
  while (begin > 0) {
    tokens += sizes.of([items[begin - 1]]);
    if (tokens > keep) break;
    begin--;
  }
  return begin;
}

/** Replaces the older items by a summary. */
async function leaveOut(context: Context, older: readonly Item[], room: number): Promise<Plan> {
  const { sizes } = context;
  const said: number[] = [];
  let tokens = 0;
  for (const item of older.toReversed()) {
    if (!("user" in item)) continue;
    tokens += sizes.of([item]);
    if (tokens > room * SAID_PART || said.length === SAID_MAX) break;
    said.unshift(item.seq);
  }
  const before = older.findLast((item) => "summary" in item);
  const plan = {
    until_seq: itemSeq(older.at(-1)!),
    kept_seqs: said,
    files: filesOf(older, context.tools),
  };
  const max = Math.floor(room * SUMMARY_PART);
  try {
    const summary = await summarise(context, older, max);
    if (sizes.ofText(summary) >= sizes.of(older)) {
      throw new Error("the summary is longer than what it replaces");
    }
    return { ...plan, summary };
  } catch (error) {
    context.turn.soft.throwIfAborted();
    // The previous summary has the oldest facts.
    return { ...plan, summary: before?.summary ?? "", problem: messageOf(error) };
  }
}

/** Files that calls changed, newest last. */
function filesOf(items: readonly Item[], tools: readonly Tool[]): string[] {
  const files = new Set<string>();
  const add = (path: unknown) => {
    if (typeof path !== "string") return;
    files.delete(path);
    files.add(path);
  };
  for (const item of items) {
    if ("summary" in item) item.files.forEach(add);
    if (!("step" in item)) continue;
    for (const { call_id, tool, args } of item.step.calls) {
      const done = item.step.results.some((it) => it.call_id === call_id && it.ok);
      const writes = tools.find(({ spec }) => spec.name === tool)?.access === "write";
      if (done && writes) add((args as { path?: unknown } | null)?.path);
    }
  }
  return [...files].slice(-FILES_MAX);
}

/** Asks the model for a summary, in a separate lane. @throws if there is no usable one. */
async function summarise(
  context: Context,
  older: readonly Item[],
  max: number,
): Promise<string> {
  const lobe = {
    lane_id: context.new_lane_id(),
    label: LABEL,
    cause: { reason: "summarizing the conversation", reason_code: LABEL },
    done: "the conversation was summarized",
  };
  return await runLobe(context.session.lanes, lobe, context.turn.soft, (signal) => {
    return askShorter(context, older, max, { lane_id: lobe.lane_id, signal });
  });
}

interface Asking {
  lane_id: string;
  signal: AbortSignal;
}

/** Asks for a summary of less and less text while the provider finds it too long. */
async function askShorter(
  context: Context,
  older: readonly Item[],
  max: number,
  asking: Asking,
): Promise<string> {
  const { transcript, limits, sizes, cause } = context;
  const refused = cause.reason === "too_long" && cause.refused?.limit === undefined;
  const part = (of: number) => REFUSED_PART * Math.min(of, sizes.before);
  let most = refused ? part(limits.context_tokens) : limits.context_tokens;
  for (let tries = 1;; tries++) {
    const room = most - max - QUESTION_TOKENS;
    try {
      // The provider has the whole conversation in its cache.
      if (sizes.before <= room) return await askAbout(context, transcript, max, asking);
      return await askInParts(context, older, max, { ...asking, room });
    } catch (error) {
      const too_long = error instanceof ModelError && error.too_long !== undefined;
      if (!too_long || tries === SUMMARY_TRIES) throw error;
      most = part(most);
    }
  }
}

/** Summarizes one part after the other, each together with the summary so far. */
async function askInParts(
  context: Context,
  older: readonly Item[],
  max: number,
  { room, ...asking }: Asking & { room: number },
): Promise<string> {
  const { sizes } = context;
  const cut = sizes.applied({
    attachments: allAttachments(context.transcript.items),
    outputs_seq: Number.MAX_SAFE_INTEGER,
    told_again: true,
    text_max: PART_TEXT_MAX,
    told_max: PART_TEXT_MAX,
  });
  const told = cut.items.filter((item) => "told" in item);
  const left = room - sizes.of(told) - sizes.prefix - max;
  const wanted = new Set(older.map(itemSeq));
  const parts: Item[][] = [];
  let free = 0;
  for (const item of cut.items) {
    const tokens = sizes.of([item]);
    // Skip an item that is too long on its own.
    if ("told" in item || !wanted.has(itemSeq(item)) || tokens > left) continue;
    if (tokens > free || parts.length === 0) {
      parts.push([]);
      free = left;
    }
    parts.at(-1)!.push(item);
    free -= tokens;
  }
  if (parts.length === 0) throw new Error("no space is left for a summary");
  if (parts.length > PARTS_MAX) parts.splice(1, parts.length - PARTS_MAX);
  let summary = "";
  for (const part of parts) {
    const before = summary === "" ? [] : [{ summary, files: [], seq: 0 }];
    const about = Transcript.from({ items: [...told, ...before, ...part], waiting: [] });
    summary = await askAbout(context, about, max, asking);
  }
  return summary;
}

function askAbout(
  context: Context,
  about: Transcript,
  max: number,
  asking: Asking,
): Promise<string> {
  return withRetries(context.session, context.turn, () => ask(context, about, max, asking));
}

async function ask(
  { session, model, tools, cost }: Context,
  about: Transcript,
  max: number,
  { lane_id, signal }: Asking,
): Promise<string> {
  const text = question(max);
  const messages: ModelRequest["messages"] = [...about.prompt(), { role: "user", text }];
  const request: ModelRequest = {
    // The same prefix as a turn's, which the provider has in its cache.
    system: SYSTEM_PROMPT,
    tools: tools.map(({ spec }) => spec),
    messages,
    files: await filesFor(session, messages, model),
    signal,
  };
  let answer = "";
  for await (const part of model.stream(request)) {
    if (part.type === "text") {
      answer += part.text;
      session.emitLaneText(lane_id, part.text);
    }
    // Models count words differently; an answer this long is not a summary.
    if (tokensOf(answer) > 3 * max) throw new Error("the summary is far too long");
    if (part.type !== "finish") continue;
    const { tokens_in, tokens_out, tokens_cached } = part.usage;
    const spent = { usd_delta: cost(part.usage), tokens_in, tokens_out, tokens_cached };
    await Promise.all([
      session.emit("cost.tick", {
        lane_id,
        ...spent,
        seen_seq: session.published_seq,
        model: model.id,
      }),
      session.emit("lane.cost", { lane_id, ...spent }),
    ]);
    const { reason } = part;
    if (reason === "filtered" || reason === "refused") throw new Error(`the summary was ${reason}`);
  }
  const summary = answer.trim();
  if (summary === "") throw new Error("the model wrote no summary");
  return summary;
}

function question(max: number): string {
  // A word takes more than one token on average, with punctuation.
  const words = Math.max(50, Math.floor(max / 2));
  return `This conversation is about to be shortened. What you write now stands for everything above;
only the newest messages stay beside it. Write down what you need in order to go on without it:

- Task: what the person wants, in their own words where the wording matters.
- Told: every fact, name, number, wish and limit that the person gave, however long ago, and all that
  an earlier summary says of this.
- Decided: what was decided, and why; what was tried and did not work.
- Plan: the steps, which are done and which are left.
- Files: what was read or changed, and what in it matters.
- Now: where the work stands, and the next step.

Leave out a heading that has nothing. Keep every fact and spend few words: ${words} at most. Call no
tool. Answer with the summary alone.`;
}

/** Token counts of a conversation and of its shortened forms, as the provider counts. */
class Sizes {
  /** The next request, unchanged. */
  readonly before: number;
  readonly #transcript: Transcript;
  /** The prefix of every request. */
  readonly prefix: number;
  /** The provider's tokens per estimated token. */
  readonly #scale: number;

  /** @param refused the limit that the conversation exceeds, if the provider named it */
  constructor(transcript: Transcript, tools: readonly Tool[], refused = 0) {
    this.#transcript = transcript;
    const prefix = prefixTokens(tools);
    const estimated = prefix + sum(transcript.items);
    this.before = Math.max(requestTokens(transcript, () => prefix), refused);
    this.#scale = this.before / estimated;
    this.prefix = this.#scale * prefix;
  }

  of(items: readonly Item[]): number {
    return this.#scale * sum(items);
  }

  ofText(text: string): number {
    return this.#scale * tokensOf(text);
  }

  /** Returns the conversation after a plan is applied. */
  applied(plan: Plan): Transcript {
    const copy = Transcript.from(structuredClone(this.#transcript.toCheckpoint()));
    const data = {
      reason: "asked",
      tokens_before: 0,
      tokens_after: 0,
      seen_seq: 0,
      ...plan,
    } as const;
    const event = {
      seq: Number.MAX_SAFE_INTEGER,
      at: "",
      type: "session.compacted",
      data,
    } as const;
    copy.apply(event satisfies SessionEvent);
    return copy;
  }

  /** Returns the tokens that a plan leaves. */
  after(plan: Plan): number {
    return this.prefix + this.of(this.applied(plan).items);
  }
}

function sum(items: readonly Item[]): number {
  return items.reduce((tokens, item) => tokens + itemTokens(item), 0);
}
