/** Converts an A2A message into a task request. */
import { type Message, type Part, Role } from "@a2a-js/sdk";
import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";

/** Keys with which clients that send no data part name a skill. */
const SKILL_KEYS = ["task_type", "skill_id", "skillId"];

/**
 * Converts a message: its text parts become the description, its data parts the other fields of a
 * task request. The result is validated like every other request.
 *
 * The skill is the `task_type` in a data part, otherwise the one in the metadata, otherwise the
 * only one offered.
 *
 * @param metadata of the request with the message
 * @param task_types the offered skills
 * @returns a body as `POST /api/task` accepts it
 * @throws {RequestMalformedError} when the skill is not clear, or nothing is requested
 * @throws {ContentTypeNotSupportedError} for files
 */
export function readMessage(
  message: Message,
  metadata: Record<string, unknown>,
  task_types: readonly string[],
): Record<string, unknown> {
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
  const description = texts.join("\n\n").trim();
  const task_type = data.task_type ?? skillOf(message.metadata) ?? skillOf(metadata) ??
    onlyOne(task_types);
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

function onlyOne(task_types: readonly string[]): string {
  if (task_types.length === 1) return task_types[0];
  throw new RequestMalformedError(
    `the message does not name a skill. Set one of ${
      task_types.join(", ")
    }: as task_type in a data part, or ` +
      "as skill_id in the metadata of the message",
  );
}
