import * as z from "zod";
import { section } from "../../config/section.ts";
import { ACP_NAME } from "../../models/acp_entry.ts";
import { acpEntrySchema } from "../../protocol/schemas/models.ts";

/** Agents of the Agent Client Protocol, by the name in their model id, `acp/<name>`. */
export const ACP = section("acp", () =>
  z.record(
    z.string().regex(ACP_NAME),
    acpEntrySchema(),
  ).default({}));
