import type { Config } from "../config/config.ts";
import { ACP } from "../features/acp_agents/config.ts";
import { agentProblem } from "../models/acp_entry.ts";
import type { Catalogue } from "../models/catalogue.ts";
import { KeyFile } from "../models/key_file.ts";
import { ModelRegistry } from "../models/registry.ts";
import type { Env, HomePaths } from "../os/paths.ts";

/**
 * Returns the models that a daemon would have if it started now.
 *
 * @param catalogue if its details are needed
 */
export function ownRegistry(
  config: Config,
  env: Env,
  paths: HomePaths,
  catalogue?: Catalogue,
): ModelRegistry {
  return new ModelRegistry({
    models: config.models,
    env,
    keys: new KeyFile(paths.keys),
    catalogue: () => catalogue,
    default_model: config.default_model,
    async builtin() {
      const { toolbelt } = await import("../models/toolbelt.ts");
      return toolbelt(() => "");
    },
    agentProblem: (name) => agentProblem(name, config.of(ACP), env),
  });
}
