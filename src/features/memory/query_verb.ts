import * as z from "zod";
import { SCOPES } from "../../protocol/memory.ts";
import { nothing, verbsOf } from "../../verbs/define.ts";
import type { MemoryServices } from "./open.ts";
import { entryQuerySchema, keyedEntrySchema } from "./schemas.ts";

const defineVerb = verbsOf<MemoryServices>();

export const memoryVerbs = [
  defineVerb({
    name: "memory.list_scopes",
    summary: "Lists the scopes that memory entries can have.",
    access: "read",
    input: nothing,
    output: () => z.object({ scopes: z.array(z.enum(SCOPES)) }),
    handle: () => ({ scopes: [...SCOPES] }),
  }),
  defineVerb({
    name: "memory.query",
    summary: "Finds the memory entries of a scope whose keys start with a prefix.",
    access: "read",
    input: entryQuerySchema,
    output: () =>
      z.object({
        entries: z.array(keyedEntrySchema()),
        truncated: z.boolean(),
      }),
    async handle({ services }, params) {
      return (await services.cortex()).query(params);
    },
  }),
];
