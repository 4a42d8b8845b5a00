/** Checks the size of messages. */
import type { NatsConnection } from "@nats-io/nats-core";
import { SvcError } from "../../../protocol/errors.ts";

/** The size of a message apart from its payload: subject and headers. */
const ENVELOPE = 1_024;

/** @throws {SvcError} payload_too_large when the server would refuse the message */
export function requireFits({ info }: NatsConnection, payload: Uint8Array): void {
  const max = info?.max_payload ?? Infinity;
  if (payload.length + ENVELOPE <= max) return;
  throw new SvcError(
    "payload_too_large",
    `${payload.length} bytes exceed the limit of the NATS server, ${max} bytes with headers`,
    { hint: "raise max_payload in the server's configuration" },
  );
}
