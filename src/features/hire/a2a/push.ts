/**
 * Push notifications of A2A: callbacks at the end of tasks, in the form that A2A clients expect.
 */
import * as z from "zod";
import { A2A_CONTENT_TYPE, StreamResponse, type TaskPushNotificationConfig } from "@a2a-js/sdk";
import { V03PushNotificationSerializer } from "@a2a-js/sdk/compat/v0_3/server";
import { RequestMalformedError } from "@a2a-js/sdk/errors";
import type { TaskRecord } from "../../tasks/task.ts";
import type { Report } from "../callback.ts";
import { A2A_VERSIONS } from "./card.ts";
import type { DraftCallback } from "./draft_store.ts";
import { toTask } from "./task_view.ts";

/** The header with the client's token, by which it recognizes notifications. */
const TOKEN_HEADER = "x-a2a-notification-token";

/** The id of a configuration without one; `callback_url` has the empty id. */
const DEFAULT_ID = "default";

/** Allowed in a header (RFC 9110, section 5.5), with a limit on the length. */
const header_value = z.string().regex(/^[\x20-\x7e]{0,4096}$/, "must be visible ASCII");

const Config = z.object({
  id: z.string().max(256),
  url: z.string(),
  token: header_value,
  authentication: z.object({
    scheme: z.string().regex(
      /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/,
      "must be the name of an authentication scheme",
    ),
    credentials: header_value,
  }).optional(),
});

/** Stored with the callback until it is sent. */
const Push = Config.pick({ token: true, authentication: true }).extend({
  version: z.enum(A2A_VERSIONS),
  base_url: z.string(),
  context_id: z.string(),
});

/** How the client sees the task. */
type PushOrigin = Pick<z.output<typeof Push>, "version" | "base_url" | "context_id">;

/**
 * Returns the callback for a configuration.
 *
 * @throws {RequestMalformedError} naming the invalid field
 */
export function toCallback(
  config: TaskPushNotificationConfig,
  { version, base_url, context_id }: PushOrigin,
): DraftCallback {
  const parsed = Config.safeParse(config);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues;
    throw new RequestMalformedError(`push notification config: ${path.join(".")}: ${message}`);
  }
  const { id, url, token, authentication } = parsed.data;
  const push: z.input<typeof Push> = { token, authentication, version, base_url, context_id };
  return { id: id || DEFAULT_ID, url, push };
}

/** Returns a callback as its client configured it, if it did so over A2A. */
export function toConfig(
  taskId: string,
  { id, url, push }: DraftCallback,
): TaskPushNotificationConfig | undefined {
  if (push === undefined) return undefined;
  const { token, authentication } = Push.parse(push);
  return { tenant: "", id, taskId, url, token, authentication };
}

/** Returns the notification for a task's end. */
export async function pushReport(push: unknown, record: TaskRecord): Promise<Report> {
  const { token, authentication, version, ...options } = Push.parse(push);
  const task = await toTask(record, options);
  const event: StreamResponse = { payload: { $case: "task", value: task } };
  const { body, contentType } = version === "0.3"
    ? new V03PushNotificationSerializer().serialize(event, task)
    : { body: JSON.stringify(StreamResponse.toJSON(event)), contentType: A2A_CONTENT_TYPE };
  const headers: Record<string, string> = { "content-type": contentType };
  if (token !== "") headers[TOKEN_HEADER] = token;
  if (authentication !== undefined) {
    headers.authorization = `${authentication.scheme} ${authentication.credentials}`;
  }
  return { body, headers };
}
