import * as z from "zod";
import { hash, ledgerCheckSchema } from "../../protocol/schemas/ledger.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";
import { ledgerItemSchema } from "./schemas.ts";

const defineVerb = verbsOf<{
  readonly hub: Hub;
  /** The file of the key that signs ledgers. */
  readonly ledger_key: string;
}>();

export const ledgerVerbs = [
  defineVerb({
    name: "ledger.export",
    summary: "Returns a session's journal as a ledger that is signed with a key of this machine.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        session_id: session_id(),
        cursor: z.string().optional().describe("next_cursor of the previous page"),
      }),
    output: () =>
      z.object({
        lines: z.array(z.string()).describe("The signed statement, its signature, the records"),
        next_cursor: z.string().optional(),
      }),
    async handle({ services }, { session_id, cursor }) {
      const { exportPage } = await import("./ledger_pages.ts");
      return await exportPage(await services.hub.get(session_id), services.ledger_key, cursor);
    },
  }),
  defineVerb({
    name: "ledger.key",
    summary: "Shows the public key of this machine that signs exported ledgers and sessions.",
    access: "read",
    input: () => z.object({}),
    output: () =>
      z.object({
        public_key: z.string().describe("As OpenSSH writes it"),
        fingerprint: z.string().describe("As `ssh-keygen -l` shows it"),
      }),
    async handle({ services }) {
      const { publicKey } = await import("./ledger_pages.ts");
      return await publicKey(services.ledger_key);
    },
  }),
  defineVerb({
    name: "ledger.get_node",
    summary: "Shows a journal record by its hash.",
    access: "read",
    input: () => z.object({ hash: hash() }),
    output: () =>
      z.object({
        hash: hash(),
        type: z.string(),
        payload: z.unknown(),
        edges: z.array(z.object({ to: hash(), kind: z.enum(["prev", "cause"]) })),
      }),
    async handle({ services }, { hash }) {
      const { nodeOf } = await import("./ledger_pages.ts");
      return await nodeOf(await services.hub.some(undefined), hash);
    },
  }),
  defineVerb({
    name: "ledger.list_events",
    summary: "Lists the records of one journal, or of all, with their hashes.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        session_id: session_id().optional(),
        since: z.iso.datetime({ offset: true }).optional(),
        limit: z.int().min(1).max(1000).default(100),
        cursor: z.string().optional().describe("next_cursor of the previous page"),
      }),
    output: () =>
      z.object({
        events: z.array(ledgerItemSchema()),
        next_cursor: z.string().optional(),
      }),
    async handle({ services }, { session_id, ...page }) {
      const { pageOf } = await import("./ledger_pages.ts");
      return await pageOf(await services.hub.some(session_id), page);
    },
  }),
  defineVerb({
    name: "ledger.verify",
    summary:
      "Recomputes the hash chain of a session's journal and compares it with the stored anchor.",
    access: "read",
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ ok: z.boolean(), ...ledgerCheckSchema().shape }),
    async handle({ services }, { session_id }) {
      const { hub } = services;
      const session = await hub.get(session_id);
      const { readAnchor, verifyLedger } = await import("../../session/ledger.ts");
      const anchor = await readAnchor(hub.anchorPath(session_id));
      const result = await verifyLedger(session.journal, anchor);
      return { ok: result.problem === undefined, ...result };
    },
  }),
];
