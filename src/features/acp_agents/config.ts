import * as z from "zod";
import { section } from "../../config/section.ts";
import { ACP_NAME } from "../../models/acp_entry.ts";
import { acpEntrySchema } from "../../protocol/schemas/models.ts";

/** ACP agents by name, for the model ids `acp/<name>`. */
export const ACP = section("acp", () =>
  z.record(
    z.string().regex(ACP_NAME),
    acpEntrySchema(),
  ).default({}));
