/** Converts our conversation into the form that the provider packages expect. */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { Message, ModelRequest, ToolCall } from "./model.ts";

/** The differences between providers. */
export interface Dialect {
  /** The key under which the package reads and writes a tool call's metadata. */
  echo_key: string;
  /** Whether svc marks the prefix for the provider's cache; the others cache without marks. */
  cache_marks: boolean;
  /** Converts a call id into one that the provider accepts. */
  call_id: (id: string) => string;
}

const CACHE: SharedV4ProviderOptions = {
  anthropic: { cacheControl: { type: "ephemeral" } },
};

/**
 * Returns the prompt and the tools of a request. The same conversation always produces the same
 * bytes, and a longer one only appends, because the providers' caches depend on that. Three marks
 * (tools, system, the newest message) keep the stable parts cached when the rest changes.
 */
export function toCallOptions(
  request: ModelRequest,
  dialect: Dialect,
): Pick<LanguageModelV4CallOptions, "prompt" | "tools"> {
  const mark = dialect.cache_marks ? CACHE : undefined;
  const prompt: LanguageModelV4Prompt = [];
  if (request.system !== "") {
    prompt.push({ role: "system", content: request.system, providerOptions: mark });
  }
  for (const message of joinTold(request.messages)) {
    const mapped = toMessage(message, dialect);
    if (mapped !== undefined) prompt.push(mapped);
  }
  const last = prompt.at(-1);
  if (last !== undefined && last.role !== "system") last.providerOptions = mark;

  const tools = request.tools.map((tool, index): LanguageModelV4FunctionTool => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema,
    providerOptions: index === request.tools.length - 1 ? mark : undefined,
  }));
  return { prompt, tools: tools.length > 0 ? tools : undefined };
}

/**
 * Puts svc's own messages in front of the person's next message, because some servers require the
 * roles to alternate. If no message of the person follows, they become a message of their own.
 */
function* joinTold(messages: ModelRequest["messages"]): Generator<Message> {
  let told = "";
  for (const message of messages) {
    if (message.role === "context") {
      told += `${message.text}\n\n`;
      continue;
    }
    if (message.role === "user") yield { role: "user", text: `${told}${toUserText(message)}` };
    else {
      if (told !== "") yield { role: "user", text: told.trimEnd() };
      yield message;
    }
    told = "";
  }
  if (told !== "") yield { role: "user", text: told.trimEnd() };
}

function toMessage(message: Message, dialect: Dialect): LanguageModelV4Message | undefined {
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "assistant": {
      if (isBlank(message.text) && message.calls.length === 0) return undefined;
      return {
        role: "assistant",
        content: [
          ...(isBlank(message.text) ? [] : [{ type: "text" as const, text: message.text }]),
          ...message.calls.map((call) => ({
            type: "tool-call" as const,
            toolCallId: dialect.call_id(call.call_id),
            toolName: call.tool,
            input: toInput(call.args),
            providerOptions: toEcho(call, dialect.echo_key),
          })),
        ],
      };
    }
    case "tool":
      return {
        role: "tool",
        content: message.results.map((result) => ({
          type: "tool-result",
          toolCallId: dialect.call_id(result.call_id),
          toolName: result.tool,
          output: { type: result.ok ? "text" : "error-text", value: result.output },
        })),
      };
  }
}

/** One text, with what is remembered first: some servers do not accept a list of texts. */
function toUserText({ text, memory }: Extract<Message, { role: "user" }>): string {
  // Providers refuse a blank text, and with it every later turn of the conversation.
  const said = isBlank(text) ? "(empty)" : text;
  return memory === undefined ? said : `${memory}\n\n${said}`;
}

/** Arguments that are not a JSON object stay visible to the model, wrapped in an object. */
function toInput(args: unknown): unknown {
  const isObject = typeof args === "object" && args !== null && !Array.isArray(args);
  return isObject ? args : { unparsed: args };
}

/** Only the metadata that this provider wrote: another provider ignores or refuses it. */
function toEcho(call: ToolCall, key: string): SharedV4ProviderOptions | undefined {
  const value = call.echo?.[key];
  return value === undefined ? undefined : { [key]: value } as SharedV4ProviderOptions;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
