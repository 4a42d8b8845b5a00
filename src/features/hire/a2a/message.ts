/** Converts A2A messages into task requests. */
import { type Message, type Part, Role } from "@a2a-js/sdk";
import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";

/** Metadata keys with which clients without a data part name a skill. */
const SKILL_KEYS = ["task_type", "skill_id", "skillId"];

export interface Said {
  texts: string[];
  /** The fields of all data parts; later parts replace earlier ones. */
  data: Record<string, unknown>;
  /** The skill that the message names in a data part, else in its metadata. */
  task_type?: unknown;
}

/**
 * Reads a message.
 *
 * @param metadata of its request
 * @throws {RequestMalformedError} if it is not a client's message
 * @throws {ContentTypeNotSupportedError} for files
 */
export function readMessage(message: Message, metadata: Record<string, unknown>): Said {
  if (message.role !== Role.ROLE_USER) {
    throw new RequestMalformedError("message.role must be ROLE_USER");
  }
  const texts: string[] = [];
  let data: Record<string, unknown> = {};
  for (const { content } of message.parts) {
    if (content?.$case === "text" && typeof content.value === "string") texts.push(content.value);
    else if (content?.$case === "data") data = { ...data, ...dataOf(content.value) };
    else throw notSupported(content);
  }
  const task_type = data.task_type ?? skillOf(message.metadata) ?? skillOf(metadata);
  return { texts: texts.filter((text) => text.trim() !== ""), data, task_type };
}

/**
 * Returns a task request for `POST /api/task`, still to be validated: the texts become the
 * description, the data the other fields.
 */
export function toRequest({ texts, data, task_type }: Said): Record<string, unknown> {
  const description = texts.join("\n\n").trim();
  return { ...data, ...(description === "" ? {} : { description }), task_type };
}

function dataOf(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new RequestMalformedError("a data part must be an object with fields of a task request");
}

function notSupported(content: Part["content"]): Error {
  if (content?.$case !== "raw" && content?.$case !== "url") {
    return new RequestMalformedError("a part must have text or data");
  }
  return new ContentTypeNotSupportedError(
    "messages with files are not supported: send text, and addresses in a data part, " +
      'such as {"extra": {"urls": ["https://example.org/"]}}',
  );
}

function skillOf(metadata: Record<string, unknown> | undefined): unknown {
  return SKILL_KEYS.map((key) => metadata?.[key]).find((it) => it !== undefined);
}
