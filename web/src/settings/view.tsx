import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import ModelSetup from "../models/setup.tsx";
import { choose } from "../sessions/new_session.ts";
import { ThemeChoice } from "../theme_choice.tsx";
import { Page } from "../ui/page.tsx";
import { hasWords, SearchBox } from "../ui/search_box.tsx";
import { Empty, Failed, Loading } from "../ui/states.tsx";
import { useKept } from "../ui/use_kept.ts";
import { ConfigForm } from "./config_form.tsx";
import { DaemonPanel } from "./daemon_panel.tsx";
import { type Config, fieldsFor } from "./fields.ts";
import { RulesPanel } from "./rules_panel.tsx";
import { ServicePanel } from "./service_panel.tsx";

/** What else a person may call a part of the page that is no setting of daemon.toml. */
const PARTS = {
  appearance: "Appearance theme colours light dark contrast",
  models: "Models API key provider Ollama LM Studio agents login",
  rules: "Permission rules allow deny ask trust",
  service: "Background service start at login install",
  daemon: "Daemon version restart shut down reload address socket",
};

/** The file may be changed by hand at any time. */
const EVERY_MS = 5_000;

export default function Settings() {
  const { client, announcer } = useApp();
  const filter = useKept("filter", "");
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
  const fits = (part: keyof typeof PARTS) => hasWords(filter.value, [PARTS[part]]);
  const none = fieldsFor(filter.value).size === 0 &&
    !(Object.keys(PARTS) as (keyof typeof PARTS)[]).some(fits);
  return (
    <Page title="Settings" class="settings">
      <div class="toolbar">
        <SearchBox label="Search settings" value={filter} />
      </div>
      {none && <Empty icon="search" title="No setting is called so" />}
      <section class="panel" aria-labelledby="appearance-heading" hidden={!fits("appearance")}>
        <h2 id="appearance-heading">Appearance</h2>
        <ThemeChoice />
      </section>
      {failure !== undefined && <Failed message={failure} onRetry={refresh} />}
      {told === undefined || found === undefined
        ? failure === undefined && <Loading lines={6} label="Loading settings" />
        : (
          <>
            <ConfigForm config={found} info={told} filter={filter.value} onSaved={refresh} />
            <section
              class="panel model-setup"
              aria-labelledby="models-heading"
              hidden={!fits("models")}
            >
              <h2 id="models-heading">Models</h2>
              <ModelSetup
                onModel={(model) => {
                  choose({ model });
                  announcer.say(`New sessions use ${model}.`);
                }}
              />
            </section>
            <div hidden={!fits("rules")}>
              <RulesPanel />
            </div>
            <div hidden={!fits("service")}>
              <ServicePanel />
            </div>
            <div hidden={!fits("daemon")}>
              <DaemonPanel info={told} onReloaded={refresh} />
            </div>
          </>
        )}
    </Page>
  );
}
