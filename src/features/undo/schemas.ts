import * as z from "zod";
import { session_id } from "../../protocol/schemas/session.ts";

export const rewindResultSchema = () =>
  z.object({
    rewind_id: z.string(),
    message_id: z.string(),
    files: z.array(z.string()).describe("The files that changed, the first 1,000"),
    files_changed: z.int(),
  });

export const forkedSchema = () =>
  z.object({ session_id: session_id(), workdir: z.string(), title: z.string() });
