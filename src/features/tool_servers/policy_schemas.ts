/** Servers of policy.yaml as clients edit them. */
import * as z from "zod";

/** What is written in the file, or null for a text that is not shown and stays as it is. */
const kept = () => z.string().nullable();

export const editedServerSchema = () =>
  z.strictObject({
    name: z.string().describe("Letters, digits, dots, hyphens or underscores"),
    transport: z.enum(["stdio", "http"]).describe("`stdio`: a program; `http`: an address"),
    command: z.string().optional().describe("The program; transport stdio"),
    args: z.array(kept()).optional()
      .describe("The program's arguments; null keeps the one at this place"),
    env: z.record(z.string(), kept()).optional()
      .describe(
        "The program's variables; `${NAME}` is a variable of the daemon, null keeps a value",
      ),
    url: kept().optional().describe("The address; transport http; null keeps it"),
    headers: z.record(z.string(), kept()).optional()
      .describe("Headers of its requests; like `env`"),
    auth_env: z.string().optional()
      .describe("The variable of the daemon's environment that holds the credential"),
    trust: z.enum(["trusted", "untrusted"]).optional()
      .describe("Untrusted sessions use untrusted servers only; `untrusted` by default"),
    max_concurrent: z.int().optional().describe("The most calls in progress; 8 by default"),
    timeout: z.string().optional().describe("The time limit for one call, such as 30s"),
    enabled: z.boolean().optional().describe("Whether sessions can use it; true by default"),
  });

export type EditedServer = z.output<ReturnType<typeof editedServerSchema>>;

export type PolicyText = z.output<ReturnType<typeof policyTextSchema>>;

export const policyTextSchema = () =>
  z.object({
    path: z.string(),
    revision: policyRevision(),
    servers: z.array(editedServerSchema()),
  });

export const policyRevision = () =>
  z.string().describe("Of the file's text, from mcp.get_policy; a change since then is a conflict");
