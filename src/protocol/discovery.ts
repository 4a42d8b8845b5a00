import type * as z from "zod";
import type { discoverySchema } from "./schemas/daemon.ts";

/** The discovery record (product.md). */
export type Discovery = z.output<ReturnType<typeof discoverySchema>>;
