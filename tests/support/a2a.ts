/** A client of A2A as others have it: the SDK's own, in either version of the protocol. */
import { deadline } from "@std/async";
import * as z from "zod";
import {
  type Message,
  type Part,
  Role,
  type SendMessageConfiguration,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import type { A2aVersion } from "../../src/features/hire/a2a/card.ts";
import { TOKENS } from "./hire.ts";

/** As long as a task, or its stream, may say nothing. */
const PATIENCE_MS = 120_000;

export interface A2aOptions {
  version?: A2aVersion;
  /** Null for none; the first by default. */
  token?: string | null;
}

/** A client that has found its way by the agent card. */
export async function a2aClient(url: string, options: A2aOptions = {}): Promise<Client> {
  const { version = "1.0", token = TOKENS[0] } = options;
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers((init as RequestInit | undefined)?.headers);
    // The SDK's resolver says 1.0 even where it is to read older cards.
    if (version === "0.3") headers.delete("a2a-version");
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const legacyCompat = { enabled: version === "0.3" };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
    cardResolver: {
      async resolve(base) {
        const resolver = new DefaultAgentCardResolver({ fetchImpl, legacyCompat });
        const card = await resolver.resolve(base);
        const supportedInterfaces = card.supportedInterfaces
          .filter(({ protocolVersion }) => protocolVersion.startsWith(version));
        return { ...card, supportedInterfaces };
      },
    },
  });
  return await factory.createFromUrl(url);
}

export interface MessageOptions extends Partial<Message> {
  configuration?: Partial<SendMessageConfiguration>;
}

/** A message for a new task: a sentence, and what else the task is asked for with. */
export function toSend(
  data: Record<string, unknown>,
  { configuration, ...message }: MessageOptions = {},
): SendMessageRequest {
  const text = "Have a look at the heron.";
  return {
    tenant: "",
    message: {
      messageId: crypto.randomUUID(),
      contextId: "",
      taskId: "",
      role: Role.ROLE_USER,
      parts: [newPart({ $case: "text", value: text }), newPart({ $case: "data", value: data })],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...message,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

/** A part of a message, of any kind. */
export function newPart(content: Part["content"]): Part {
  return { content, metadata: undefined, filename: "", mediaType: "" };
}

/** Sends a message whose answer is a task. */
export async function ask(client: Client, request: SendMessageRequest): Promise<Task> {
  const answer = await deadline(client.sendMessage(request), PATIENCE_MS);
  if ("messageId" in answer) throw new Error("a message was answered instead of a task");
  return answer;
}

/** The task of a stream's first event. */
export async function firstTask(events: AsyncIterator<StreamResponse>): Promise<Task> {
  const { value } = await deadline(events.next(), PATIENCE_MS);
  if (value?.payload?.$case !== "task") throw new Error(`no task: ${JSON.stringify(value)}`);
  return value.payload.value;
}

const skill = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  description: z.string().min(1),
  tags: z.array(z.string()),
  examples: z.array(z.string()),
  inputModes: z.array(z.string()),
  outputModes: z.array(z.string()),
});
const common = {
  name: z.string().min(1),
  description: z.string().min(1),
  version: z.string().min(1),
  supportedInterfaces: z.array(z.strictObject({
    url: z.httpUrl().or(z.string().regex(/^http:\/\/127\.0\.0\.1:\d+\//)),
    protocolBinding: z.enum(["JSONRPC", "GRPC", "HTTP+JSON"]),
    protocolVersion: z.string().regex(/^\d+\.\d+$/),
  })).min(1),
  capabilities: z.strictObject({ streaming: z.boolean(), pushNotifications: z.boolean() }),
  defaultInputModes: z.array(z.string()).min(1),
  defaultOutputModes: z.array(z.string()).min(1),
  skills: z.array(skill).min(1),
};
const described = { description: z.string() };

/** Agent cards as each version of the specification has them, without what is not used here. */
export const CARDS = {
  "1.0": z.strictObject({
    ...common,
    securitySchemes: z.record(
      z.string(),
      z.union([
        z.strictObject({
          apiKeySecurityScheme: z.strictObject({
            ...described,
            location: z.enum(["query", "header", "cookie"]),
            name: z.string(),
          }),
        }),
        z.strictObject({
          httpAuthSecurityScheme: z.strictObject({ ...described, scheme: z.string() }),
        }),
      ]),
    ).optional(),
    securityRequirements: z.array(z.strictObject({
      schemes: z.record(z.string(), z.strictObject({ list: z.array(z.string()) })),
    })).optional(),
  }),
  "0.3": z.strictObject({
    ...common,
    protocolVersion: z.literal("0.3.0"),
    url: z.string(),
    preferredTransport: z.literal("JSONRPC"),
    securitySchemes: z.record(
      z.string(),
      z.union([
        z.strictObject({
          ...described,
          type: z.literal("apiKey"),
          in: z.enum(["query", "header", "cookie"]),
          name: z.string(),
        }),
        z.strictObject({ ...described, type: z.literal("http"), scheme: z.string() }),
      ]),
    ).optional(),
    security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  }),
};
