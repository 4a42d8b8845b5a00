import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import ModelSetup from "../models/setup.tsx";
import { choose } from "../sessions/new_session.ts";
import { ThemeChoice } from "../theme_choice.tsx";
import { Page } from "../ui/page.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { ConfigForm } from "./config_form.tsx";
import { DaemonPanel } from "./daemon_panel.tsx";
import type { Config } from "./fields.ts";
import { RulesPanel } from "./rules_panel.tsx";
import { ServicePanel } from "./service_panel.tsx";

/** The file may be changed by hand at any time. */
const EVERY_MS = 5_000;

export default function Settings() {
  const { client, announcer } = useApp();
  const info = useLive<Result<"daemon.info">>({
    ask: () => client.ask("daemon.info", {}),
    every_ms: EVERY_MS,
  });
  const config = useLive<Config>({
    ask: () => client.ask("daemon.get_config", {}),
    every_ms: EVERY_MS,
  });
  const refresh = async () => {
    await Promise.all([info.refresh(), config.refresh()]);
  };
  const told = info.value.value;
  const found = config.value.value;
  const failure = config.error.value ?? info.error.value;
  return (
    <Page title="Settings" class="settings">
      <section class="panel" aria-labelledby="appearance-heading">
        <h2 id="appearance-heading">Appearance</h2>
        <ThemeChoice />
      </section>
      {failure !== undefined && <Failed message={failure} onRetry={refresh} />}
      {told === undefined || found === undefined
        ? failure === undefined && <Loading lines={6} label="Loading settings" />
        : (
          <>
            <ConfigForm config={found} info={told} onSaved={refresh} />
            <section class="panel model-setup" aria-labelledby="models-heading">
              <h2 id="models-heading">Models</h2>
              <ModelSetup
                onModel={(model) => {
                  choose({ model });
                  announcer.say(`New sessions use ${model}.`);
                }}
              />
            </section>
            <RulesPanel />
            <ServicePanel />
            <DaemonPanel info={told} onReloaded={refresh} />
          </>
        )}
    </Page>
  );
}
