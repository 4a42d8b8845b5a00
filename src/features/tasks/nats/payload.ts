/** What fits into one message. */
import type { NatsConnection } from "@nats-io/nats-core";
import { SvcError } from "../../../protocol/errors.ts";

/** What a message has beside its payload: subject and headers. */
const ENVELOPE = 1_024;

/** @throws {SvcError} payload_too_large when the server would not take a message. */
export function requireFits({ info }: NatsConnection, payload: Uint8Array): void {
  const max = info?.max_payload ?? Infinity;
  if (payload.length + ENVELOPE <= max) return;
  throw new SvcError(
    "payload_too_large",
    `${payload.length} bytes are more than the NATS server takes, ${max} with what goes with them`,
    { hint: "raise max_payload in its configuration" },
  );
}
