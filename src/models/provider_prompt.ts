/** Converts a conversation into the form that the provider packages expect. */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { type Attachment, attachmentLine, type MediaType } from "../protocol/attachments.ts";
import { acceptableJson, acceptableName, acceptableText, CallIds } from "./acceptable.ts";
import { isObject } from "./loose_json.ts";
import type { SentReasoning } from "./chat_reasoning.ts";
import type { Message, ModelRequest, ToolCall, ToolResult } from "./model.ts";

/** The differences between providers. */
export interface Dialect {
  /** The package's key for a tool call's metadata. */
  echo_key: string;
  /** Whether svc marks the prefix for the provider's cache; the others cache without marks. */
  cache_marks: boolean;
  /** The key of the reasoning before a call in its echo; absent: none goes back. */
  reasoning_key?: string;
  /** Whether reasoning goes back in message fields that the package does not know. */
  reasoning_fields?: true;
  /** The media that the model accepts. */
  accepts: readonly MediaType[];
  /** Whether a result can contain files; otherwise they follow in a message. */
  files_in_results: boolean;
  /** Converts a call id into one that the provider accepts. */
  call_id: (id: string) => string;
}

/** A piece of reasoning that goes back unchanged. */
export interface ReasoningPart {
  text: string;
  /** The package's metadata, with what only the provider can read. */
  metadata: SharedV4ProviderOptions;
}

type Reasoned = SentReasoning | undefined;

const CACHE: SharedV4ProviderOptions = {
  anthropic: { cacheControl: { type: "ephemeral" } },
};

/**
 * Returns the prompt and the tools of a request. For the providers' caches, the same conversation
 * always produces the same bytes, and a longer one only appends. Three marks (tools, system, the
 * newest message) keep the stable parts cached. `given`: what goes back in fields with each answer,
 * oldest first.
 */
export function toCallOptions(
  request: ModelRequest,
  dialect: Dialect,
): Pick<LanguageModelV4CallOptions, "prompt" | "tools"> & { given: Reasoned[] } {
  const mark = dialect.cache_marks ? CACHE : undefined;
  const prompt: LanguageModelV4Prompt = [];
  if (request.system !== "") {
    const content = acceptableText(request.system);
    prompt.push({ role: "system", content, providerOptions: mark });
  }
  const files = new Given(dialect, request.files);
  const given: Reasoned[] = [];
  prompt.push(...joined(request.messages, dialect, files, given));
  const last = prompt.at(-1);
  if (last !== undefined && last.role !== "system") last.providerOptions = mark;

  const tools = request.tools.map((tool, index): LanguageModelV4FunctionTool => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema,
    providerOptions: index === request.tools.length - 1 ? mark : undefined,
  }));
  return { prompt, tools: tools.length > 0 ? tools : undefined, given };
}

/**
 * Puts svc's own messages, and files that a result cannot contain, in front of the person's next
 * message, because some servers require alternating roles. Without one they become a message.
 */
function* joined(
  messages: ModelRequest["messages"],
  dialect: Dialect,
  given: Given,
  reasoned: Reasoned[],
): Generator<LanguageModelV4Message> {
  const ids = new CallIds(dialect.call_id);
  let told = "";
  let files: LanguageModelV4FilePart[] = [];
  for (const message of messages) {
    if (message.role === "context") {
      told += `${message.text}\n\n`;
      continue;
    }
    if (message.role === "user") {
      const content = [...files, ...given.files(message.attachments)];
      yield toUser(content, `${told}${toUserText(message, given)}`);
    } else if (told !== "" || files.length > 0) yield toUser(files, told.trimEnd());
    told = "";
    files = [];
    if (message.role === "assistant") {
      const mapped = toAssistant(message, dialect, ids);
      if (mapped !== undefined) {
        reasoned.push(fieldsOf(message, dialect));
        yield mapped;
      }
    } else if (message.role === "tool") {
      yield toResults(message.results, ids, given);
      const apart = message.results.filter((result) => !given.inResult(result));
      files = apart.flatMap(({ attachments }) => given.files(attachments));
      if (files.length > 0) {
        const names = files.map(({ filename }) => filename).join(", ");
        told = `[Files from the results above: ${names}]\n\n`;
      }
    }
  }
  if (told !== "" || files.length > 0) yield toUser(files, told.trimEnd());
}

/** The files of a request, as far as its model accepts them. */
class Given {
  readonly #dialect: Dialect;
  /** Undefined for a request that needs no files. */
  readonly #files: ReadonlyMap<string, string> | undefined;

  constructor(dialect: Dialect, files: ReadonlyMap<string, string> | undefined) {
    this.#dialect = dialect;
    this.#files = files;
  }

  /** Whether a result contains its files. */
  inResult({ ok }: ToolResult): boolean {
    // Only a text result can be marked as failed.
    return ok && this.#dialect.files_in_results;
  }

  files(attachments: readonly Attachment[] = []): LanguageModelV4FilePart[] {
    return attachments.flatMap(({ hash, media_type, name }) => {
      const data = this.#files?.get(hash);
      if (data === undefined || !this.#sees(media_type)) return [];
      return [{
        type: "file",
        mediaType: media_type,
        filename: name,
        data: { type: "data", data },
      }];
    });
  }

  /** Returns a line for each attachment that the model does not get, and why. */
  lines(attachments: readonly Attachment[] = [], { all }: { all: boolean }): string[] {
    return attachments.flatMap((attachment) => {
      const { media_type, hash } = attachment;
      const problem = this.#dialect.accepts.length === 0
        ? "this model cannot see images or documents"
        : !this.#sees(media_type)
        ? `this model cannot be given ${media_type}`
        : this.#files === undefined || this.#files.has(hash)
        ? undefined
        : "its file is missing or damaged";
      return problem === undefined && !all ? [] : [attachmentLine(attachment, problem)];
    });
  }

  #sees(media_type: MediaType): boolean {
    return this.#dialect.accepts.includes(media_type);
  }
}

function toUser(files: readonly LanguageModelV4FilePart[], text: string): LanguageModelV4Message {
  return { role: "user", content: [...files, { type: "text", text: acceptableText(text) }] };
}

function toAssistant(
  { text: said, calls }: Extract<Message, { role: "assistant" }>,
  dialect: Dialect,
  ids: CallIds,
): LanguageModelV4Message | undefined {
  if (isBlank(said) && calls.length === 0) return undefined;
  const text = acceptableText(said);
  ids.begin();
  const made = calls.map((call) => ({
    reasoning: toReasoning(call, dialect),
    call: {
      type: "tool-call" as const,
      toolCallId: ids.ofCall(call.call_id),
      toolName: acceptableName(call.tool),
      // The model can see wrapped arguments that are not an object.
      input: acceptableJson(isObject(call.args) ? call.args : { unparsed: call.args }),
      providerOptions: toEcho(call, dialect.echo_key),
    },
  }));
  return {
    role: "assistant",
    content: [
      // A model's first thoughts come before its text.
      ...(made[0]?.reasoning ?? []),
      ...(isBlank(text) ? [] : [{ type: "text" as const, text }]),
      ...made.flatMap(({ reasoning, call }, at) => at === 0 ? [call] : [...reasoning, call]),
    ],
  };
}

function toResults(
  results: readonly ToolResult[],
  ids: CallIds,
  given: Given,
): LanguageModelV4Message {
  return {
    role: "tool",
    content: results.map((result) => {
      const lines = given.lines(result.attachments, { all: false });
      const value = acceptableText([result.output, ...lines].join("\n"));
      const files = given.inResult(result) ? given.files(result.attachments) : [];
      return {
        type: "tool-result",
        toolCallId: ids.ofResult(result.call_id),
        toolName: acceptableName(result.tool),
        output: files.length > 0
          ? { type: "content", value: [{ type: "text", text: value }, ...files] }
          : { type: result.ok ? "text" : "error-text", value },
      };
    }),
  };
}

/** One text with the memory first: some servers do not accept a list of texts. */
function toUserText(
  { text, memory, attachments }: Extract<Message, { role: "user" }>,
  given: Given,
): string {
  // Providers refuse a blank text, and with it every later turn of the conversation.
  const said = isBlank(text) ? "(empty)" : text;
  const lines = given.lines(attachments, { all: true });
  const whole = lines.length === 0 ? said : `${said}\n\n${lines.join("\n")}`;
  return memory === undefined ? whole : `${memory}\n\n${whole}`;
}

/** Only this provider's metadata: others ignore or refuse it. */
function toEcho(call: ToolCall, key: string): SharedV4ProviderOptions | undefined {
  const value = call.echo?.[key];
  return value === undefined ? undefined : { [key]: value } as SharedV4ProviderOptions;
}

function toReasoning({ echo }: ToolCall, { reasoning_key: key, reasoning_fields }: Dialect) {
  const parts = key === undefined || reasoning_fields ? undefined : echo?.[key];
  if (!Array.isArray(parts)) return [];
  return (parts as ReasoningPart[]).map(({ text, metadata }) => ({
    type: "reasoning" as const,
    text,
    providerOptions: metadata,
  }));
}

function fieldsOf(
  { calls, echo }: Extract<Message, { role: "assistant" }>,
  { reasoning_key: key, reasoning_fields }: Dialect,
): Reasoned {
  if (key === undefined || !reasoning_fields) return undefined;
  const kept = (calls[0]?.echo ?? echo)?.[key];
  // Journals of version 0.1.0 have it in parts.
  if (!Array.isArray(kept)) return kept as Reasoned;
  return { reasoning_content: (kept as ReasoningPart[]).map(({ text }) => text).join("") };
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
