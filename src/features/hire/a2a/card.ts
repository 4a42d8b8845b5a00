/**
 * The agent card: tells A2A clients what is offered and how to request it, in the different shapes
 * of versions 1.0 and 0.3. Neither needs the SDK.
 */

export const A2A_VERSIONS = ["1.0", "0.3"] as const;
export type A2aVersion = typeof A2A_VERSIONS[number];

/** The contents of a card. */
export interface Offer {
  /** The version of this build. */
  version: string;
  task_types: readonly string[];
  requires_auth: boolean;
  /** The public address of surface B, without a trailing slash. */
  base_url: string;
}

/** The path of the card (RFC 8615). */
export const CARD_PATH = "/.well-known/agent-card.json";
/** The path of the card before version 0.3. */
export const OLD_CARD_PATH = "/.well-known/agent.json";
/** The JSON-RPC endpoint; followed by a version, the endpoint for it alone. */
export const A2A_PATH = "/a2a";
/** The name of the version in a header or a query (A2A, section 3.6). */
export const VERSION_PARAMETER = "A2A-Version";

/** Returns the supported version that a client names; a patch number is ignored. */
export function knownVersion(named: string | undefined): A2aVersion | undefined {
  const [version] = /^\d+\.\d+(?=\.\d+$|$)/.exec(named?.trim() ?? "") ?? [];
  return A2A_VERSIONS.find((it) => it === version);
}

export interface CardQuery {
  /** The version in the request's header or query. */
  asked?: string;
  /** The version in the request's path. */
  pinned?: A2aVersion;
}

/**
 * Returns the card of the supported version that a client asks for, else one that clients of both
 * versions can read.
 */
export function cardFor(offer: Offer, { asked, pinned }: CardQuery) {
  const version = pinned ?? knownVersion(asked);
  if (version === undefined) return legacyAgentCard(offer);
  const path = pinned === undefined ? A2A_PATH : `${A2A_PATH}/${pinned}`;
  if (version === "1.0") return agentCard(offer, { versions: ["1.0"], path });
  const { supportedInterfaces: _, ...card } = legacyAgentCard(offer);
  return { ...card, url: `${offer.base_url}${path}` };
}

/** Media types accepted in messages. */
const INPUT_MODES = ["text/plain", "application/json"];
/** Media types of every task's answer. */
const OUTPUT_MODES = ["text/plain", "application/json"];

interface Skill {
  name: string;
  description: string;
  tags: string[];
  /** An example of a data part. */
  example: Record<string, unknown>;
  outputModes: string[];
}

const SKILLS: Record<string, Skill> = {
  research: {
    name: "Research",
    description:
      "Answers a question from web pages (extra.urls) or a web search. Every claim quotes " +
      "its source verbatim, and each quote is checked against the source.",
    tags: ["research", "web", "citations"],
    example: { query: "What does a heron eat?", extra: { urls: ["https://example.org/heron"] } },
    outputModes: ["text/markdown"],
  },
  browser: {
    name: "Browser",
    description: "Opens a web page (extra.url), optionally after clicks and input " +
      "(extra.actions): its text, links, a screenshot, a PDF. Checks extra.expected_text and " +
      "extra.expected_regex.",
    tags: ["browser", "web", "screenshot"],
    example: {
      query: "Is it up?",
      extra: { url: "https://example.org", expected_text: "Example" },
    },
    outputModes: ["image/png", "application/pdf"],
  },
  deploy: {
    name: "Deploy",
    description:
      "Deploys a target that the operator has configured (extra.target), and verifies it with " +
      "its health check and its commit.",
    tags: ["deploy", "operations"],
    example: { description: "Ship it", extra: { target: "site" } },
    outputModes: [],
  },
  code: {
    name: "Code",
    description: "Changes a project (extra.repo or extra.workdir) as described and checks the " +
      "acceptance criteria; returns the change as a diff.",
    tags: ["code", "git"],
    example: {
      description: "Fix the failing test",
      extra: { repo: "https://example.org/project.git" },
    },
    outputModes: ["text/x-diff"],
  },
};

/** Returns a line about each of these skills. */
export function skillLines(task_types: readonly string[]): string {
  return task_types.map((it) => `- ${it}: ${SKILLS[it]?.description ?? ""}`).join("\n");
}

const NAME = "svc";
const DESCRIPTION = "Runs hired tasks and verifies the results: a task is completed only if " +
  "every criterion was checked and met. Send the request as text, with the addresses it needs, " +
  "or the skill and its options as a data part. A request that lacks something is asked about.";
const API_KEY = {
  name: "X-Svc-Bearer",
  description: "One of the tokens in the operator's SVC_SERVE_TOKENS",
};
const BEARER = { scheme: "Bearer", description: "The same token, as an HTTP bearer token" };

interface Interfaces {
  versions?: readonly A2aVersion[];
  path?: string;
}

/** Returns the card of version 1.0. */
export function agentCard(offer: Offer, interfaces: Interfaces = {}) {
  const { name, description } = API_KEY;
  return {
    ...common(offer, interfaces),
    ...(offer.requires_auth
      ? {
        securitySchemes: {
          svcToken: { apiKeySecurityScheme: { location: "header", name, description } },
          bearer: { httpAuthSecurityScheme: BEARER },
        },
        securityRequirements: [
          { schemes: { svcToken: { list: [] } } },
          { schemes: { bearer: { list: [] } } },
        ],
      }
      : {}),
  };
}

/** Returns the card of version 0.3, which also says where 1.0 is available. */
export function legacyAgentCard(offer: Offer) {
  const { name, description } = API_KEY;
  return {
    ...common(offer, {}),
    protocolVersion: "0.3.0",
    url: `${offer.base_url}${A2A_PATH}`,
    preferredTransport: "JSONRPC",
    ...(offer.requires_auth
      ? {
        securitySchemes: {
          svcToken: { type: "apiKey", in: "header", name, description },
          bearer: { type: "http", ...BEARER },
        },
        security: [{ svcToken: [] }, { bearer: [] }],
      }
      : {}),
  };
}

function common(
  { version, task_types, requires_auth, base_url }: Offer,
  { versions = A2A_VERSIONS, path = A2A_PATH }: Interfaces,
) {
  return {
    name: NAME,
    description: DESCRIPTION,
    version,
    supportedInterfaces: versions.map((protocolVersion) => {
      return { url: `${base_url}${path}`, protocolBinding: "JSONRPC", protocolVersion };
    }),
    capabilities: { streaming: true, pushNotifications: requires_auth },
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: OUTPUT_MODES,
    skills: task_types.map(skill),
  };
}

function skill(task_type: string) {
  const { name, description, tags, example, outputModes } = SKILLS[task_type];
  return {
    id: task_type,
    name,
    description,
    tags,
    examples: [JSON.stringify({ task_type, ...example })],
    inputModes: INPUT_MODES,
    outputModes: [...OUTPUT_MODES, ...outputModes],
  };
}
