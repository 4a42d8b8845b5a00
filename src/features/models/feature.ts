import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { ACP } from "../acp_agents/config.ts";
import { CATALOGUE } from "./config.ts";
import { modelVerbs } from "./verbs.ts";

/** The models that can be used, and what is known of them. */
export const models = feature({
  name: "models",
  sections: [CATALOGUE],
  verbs: modelVerbs,
  open({ models, config, catalogue, paths, env, log }) {
    const url = () => config().of(CATALOGUE).url;
    const download = new Opener(async () => {
      const { CatalogueDownload } = await import("./download.ts");
      const warn = (message: string, fields: Record<string, unknown>) => log.warn(message, fields);
      return new CatalogueDownload({ path: paths.catalogue, url, warn });
    });
    const logins = new Opener(async () => new (await import("./login.ts")).ProviderLogins());
    const downloadIfDue = async () => {
      if (url() !== undefined) (await download.get()).begin();
    };
    return {
      services: {
        models,
        config,
        paths,
        env,
        agents: () => config().of(ACP),
        mask: (key) => log.mask(key),
        logins: () => logins.get(),
        async catalogue() {
          await downloadIfDue();
          return await catalogue();
        },
      },
      beforeModel: downloadIfDue,
      async stop() {
        await (await download.opened)?.stop();
        await (await logins.opened)?.stop();
      },
    };
  },
});
