import * as z from "zod";
import { session_id } from "../../protocol/schemas/session.ts";

export const forkedSchema = () =>
  z.object({ session_id: session_id(), workdir: z.string(), title: z.string() });
