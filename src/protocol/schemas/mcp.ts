/** The options of an MCP client. */
import * as z from "zod";

/** Tools offered to a client: those that only read, also those that change something, or all. */
export const CAPS = ["read", "write", "all"] as const;

/** Listed tools: all that the caps allow, or the most important ones. */
export const TOOLSETS = ["all", "core"] as const;

/** A client's choice of tools. */
export const catalogChoiceSchema = () =>
  z.object({
    caps: z.enum(CAPS).default("all")
      .describe("`write` excludes destructive tools, `read` all that change something"),
    toolset: z.enum(TOOLSETS).default("all")
      .describe("Which tools are listed; the others can still be called"),
    safe_names: z.boolean().optional().describe(
      "Underscores instead of dots in names, for clients that do not accept dots; " +
        "by default, as the client needs it",
    ),
  });

export type CatalogChoice = z.output<ReturnType<typeof catalogChoiceSchema>>;
