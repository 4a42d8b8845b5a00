import { type Section, type SettingKeyOf, settingsOf } from "../../config/section.ts";
import { SETTING_KEYS, type SettingKey } from "../../config/settings.ts";
import { feature } from "../../verbs/feature.ts";
import { hire } from "../hire/feature.ts";
import { configVerbs, daemonVerbs } from "./verbs.ts";

/** The daemon itself. @param sections the tables of daemon.toml of all other features. */
export const controlOf = <C extends Section>(sections: readonly C[]) =>
  feature({
    name: "control",
    verbs: [
      ...daemonVerbs,
      ...configVerbs<SettingKey | SettingKeyOf<C>>([
        ...SETTING_KEYS,
        ...Object.keys(settingsOf(sections)) as SettingKeyOf<C>[],
      ]),
    ],
    open(host) {
      const { config, env, builtin_tools, discovery, ports } = host;
      return {
        services: {
          ...host,
          prefix_tools: async () => (await builtin_tools()).map(({ spec }) => spec),
          start_dir: () => config().default_workdir ?? env("HOME") ?? env("USERPROFILE") ?? "/",
          // Verbs are called through doors.
          discovery: () => discovery()!,
          agent_port: () => ports().get(hire.name),
        },
      };
    },
  });
