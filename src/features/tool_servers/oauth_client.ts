/** `oauth` of an entry in policy.yaml: a client that was registered by hand. */
import * as z from "zod";

/** @param variable the shape of a variable's name */
export const oauthClientSchema = (variable: z.ZodString) =>
  z.strictObject({
    client_id: z.string().min(1),
    client_secret_env: variable.optional()
      .describe("The environment variable of the daemon that holds the client's secret"),
    port: z.int().min(1).max(65_535)
      .describe("The port of the registered redirect address http://127.0.0.1:<port>/callback"),
  });

export type OAuthClient = z.output<ReturnType<typeof oauthClientSchema>>;
