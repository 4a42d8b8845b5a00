/** Notifies a client of the end of its task, with a POST signed according to Standard Webhooks. */
import { type Egress, EgressRefused } from "../../net/egress.ts";
import { explainFetch, parseAddress } from "../../net/http_get.ts";
import { type Deliver, UndeliverableError } from "../tasks/callbacks.ts";
import type { TaskRecord } from "../tasks/task.ts";
import type { HireTokens } from "./tokens.ts";

export interface Report {
  body: string;
  headers: Record<string, string>;
}

export interface CallbackParts {
  tokens: HireTokens;
  /** Opens the egress for one callback. */
  egress(): Promise<Egress>;
  /** Returns milliseconds since 1970. */
  now?(): number;
}

const ANSWER_MS = 10_000;

/**
 * Returns the function that sends callbacks. The body is the task record or, for a push
 * notification, its A2A form. `webhook-id` is the task's id, `webhook-timestamp` is in seconds
 * since 1970, and `webhook-signature` is `v1,` and the base64 of the HMAC-SHA256 of
 * `<id>.<timestamp>.<body>` with the token that requested the task.
 */
export function callbackSender({ tokens, egress, now = Date.now }: CallbackParts): Deliver {
  return async ({ url, key_id, push }, record, stop) => {
    const { body, headers } = await report(push, record);
    const timestamp = String(Math.floor(now() / 1000));
    const signature = tokens.sign(key_id, `${record.id}.${timestamp}.${body}`);
    if (signature === undefined) {
      throw new UndeliverableError(
        "the token that requested the task is no longer accepted",
      );
    }
    await using way = await egress();
    const target = parseAddress(url);
    const signal = AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]);
    try {
      const response = await fetch(target, {
        method: "POST",
        // A signed callback follows no redirect; a client that moves must give a new address.
        redirect: "manual",
        client: way.client,
        signal,
        headers: {
          ...headers,
          "user-agent": "svc",
          "webhook-id": record.id,
          "webhook-timestamp": timestamp,
          "webhook-signature": `v1,${signature}`,
        },
        body,
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`${target.host} answered ${response.status}`);
    } catch (error) {
      const problem = way.problem(target.hostname);
      if (problem instanceof EgressRefused) throw new UndeliverableError(problem.message);
      throw new Error(problem?.message ?? explainFetch(error));
    }
  };
}

async function report(push: unknown, record: TaskRecord): Promise<Report> {
  if (push === undefined) {
    return { body: JSON.stringify(record), headers: { "content-type": "application/json" } };
  }
  const { pushReport } = await import("./a2a/push.ts");
  return await pushReport(push, record);
}
