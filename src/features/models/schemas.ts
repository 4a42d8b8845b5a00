import * as z from "zod";

export const waysSchema = () =>
  z.object({
    ready: z.boolean().describe("Whether a model other than builtin/toolbelt is configured"),
    default_model: z.string(),
    providers: z.array(z.object({
      provider: z.string(),
      address: z.string().describe("Base URL that the key is sent to"),
      key_from: z.enum(["environment", "login"]).optional()
        .describe("Where its key comes from, if it has one"),
      problem: z.string().optional().describe("Why its saved key is not used"),
      login: z.boolean().describe(
        "Whether it gives a key in the browser; models.login begins that",
      ),
    })).describe("Providers that take a key; models.save_key saves one"),
    servers: z.array(z.object({
      provider: z.string(),
      address: z.string(),
      running: z.boolean(),
      models: z.array(z.string()).describe("<provider>/<model>"),
    })).describe("Servers of models on this machine"),
    agents: z.array(z.object({
      model: z.string().describe("acp/<name>"),
      needs: z.string().optional()
        .describe("What daemon.toml has to say before the installed program can be used"),
    })).describe("Agents over the Agent Client Protocol that are installed"),
  });

export const savedKeySchema = () =>
  z.object({
    provider: z.string(),
    tested: z.boolean(),
    models: z.array(z.string()).describe("The first models that the key can use"),
    models_count: z.int(),
    model: z.string().optional().describe("The provider's default model, or the first one"),
    key_from: z.enum(["environment", "login"])
      .describe("environment: the daemon's environment has a key too, and that one is used"),
  });

export const newKeySchema = () =>
  z.object({
    provider: z.string().min(1).describe("As `models.providers` names it"),
    key: z.string().min(1).meta({
      description: "Never returned, logged or written to a journal",
      writeOnly: true,
    }),
    test: z.boolean().default(true)
      .describe("Whether to ask the provider first; a key that it refuses is not saved"),
  });
