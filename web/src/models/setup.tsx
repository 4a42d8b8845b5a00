/** The ways to get a model, each a card: a key, a server of this machine, an agent, none at all. */
import "../main.tsx";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, type Result, RpcError } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Field } from "../ui/field.tsx";
import { keepLogin, leftLogin } from "../ui/left_login.ts";
import { Failed, Loading } from "../ui/states.tsx";

type Ways = Result<"models.providers">;
type Saved = Result<"models.save_key">;

/** How providers are written, and where they issue keys. */
const KNOWN: Readonly<Record<string, { name: string; page?: string }>> = {
  anthropic: { name: "Anthropic", page: "https://console.anthropic.com/settings/keys" },
  openai: { name: "OpenAI", page: "https://platform.openai.com/api-keys" },
  google: { name: "Google Gemini", page: "https://aistudio.google.com/apikey" },
  openrouter: { name: "OpenRouter", page: "https://openrouter.ai/keys" },
  xai: { name: "xAI", page: "https://console.x.ai" },
  mistral: { name: "Mistral", page: "https://console.mistral.ai/api-keys" },
  deepseek: { name: "DeepSeek", page: "https://platform.deepseek.com/api_keys" },
  groq: { name: "Groq", page: "https://console.groq.com/keys" },
  together: { name: "Together" },
  fireworks: { name: "Fireworks" },
  azure: { name: "Azure OpenAI" },
  "github-models": { name: "GitHub Models" },
  ollama: { name: "Ollama" },
  lmstudio: { name: "LM Studio" },
};

function nameOf(provider: string): string {
  return Object.hasOwn(KNOWN, provider) ? KNOWN[provider].name : provider;
}

/** A person may take five minutes to agree. */
const LOGIN_DEADLINE_MS = 6 * 60_000;

function counted(models: number): string {
  return models === 1 ? "1 model" : `${models} models`;
}

interface SetupProps {
  /** Told a model that new sessions are to use. */
  onModel(model: string): void;
}

/** Shows the ways to get a model. */
export default function ModelSetup({ onModel }: SetupProps) {
  const { client } = useApp();
  const ways = useSignal<Ways | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const look = async () => {
    try {
      ways.value = await client.ask("models.providers", {});
      problem.value = undefined;
    } catch (error) {
      problem.value = explain(error);
    }
  };
  useEffect(() => {
    look();
  }, []);
  const { providers, servers, agents } = ways.value ?? {};
  if (problem.value !== undefined) return <Failed message={problem.value} onRetry={look} />;
  if (providers === undefined) return <Loading lines={3} label="Looking for models" />;
  return (
    <div class="model-cards">
      <KeyCard providers={providers} onSaved={look} onModel={onModel} />
      {servers!.map(({ provider, address, running, models }) => (
        <Card
          key={provider}
          title={nameOf(provider)}
          state={running ? "Running" : "Not running"}
          tone={running ? "done" : "paused"}
        >
          <p>
            {!running
              ? `Nothing answers at ${address}. Start it, then look again.`
              : models.length === 0
              ? "It has no model yet. Load one there, then look again."
              : `${counted(models.length)} on this machine.`}
          </p>
          {models.length > 0
            ? (
              <ModelChoice
                label={`Model of ${nameOf(provider)}`}
                models={models}
                onModel={onModel}
              />
            )
            : <Button onClick={look}>Look again</Button>}
        </Card>
      ))}
      {agents!.map(({ model, needs }) => (
        <Card
          key={model}
          title={model.slice("acp/".length)}
          state={needs === undefined ? "Set up" : "Installed"}
          tone={needs === undefined ? "done" : "paused"}
        >
          <p>An agent of its own that answers the turns of a session.</p>
          {needs === undefined ? <Button onClick={() => onModel(model)}>Use {model}</Button> : (
            <>
              <p>Add this to daemon.toml, then look again:</p>
              <pre class="needs" tabIndex={0} aria-label={`What ${model} needs`}>{needs}</pre>
              <Button onClick={look}>Look again</Button>
            </>
          )}
        </Card>
      ))}
      <Card title="Without a model" state="Built in" tone="done">
        <p>
          Try svc without a key: builtin/toolbelt understands simple instructions such as{" "}
          <code>run ls</code> and <code>help</code>.
        </p>
        <Button onClick={() => onModel("builtin/toolbelt")}>Try without a model</Button>
      </Card>
    </div>
  );
}

interface CardProps {
  title: string;
  state?: string;
  tone?: string;
  children: ComponentChildren;
}

function Card({ title, state, tone = "", children }: CardProps) {
  return (
    <section class="model-card" aria-label={title}>
      <header>
        <h3>{title}</h3>
        {state && <Chip tone={tone}>{state}</Chip>}
      </header>
      {children}
    </section>
  );
}

interface KeyProps extends SetupProps {
  providers: Ways["providers"];
  onSaved(): Promise<void>;
}

/** Under which a login at a provider is kept. */
const LOGIN = "model";

/** Takes a key, has the provider test it, and says which models it can use. */
function KeyCard({ providers, onSaved, onModel }: KeyProps) {
  const { client, announcer } = useApp();
  const provider = useSignal(providers[0]?.provider ?? "");
  const key = useSignal("");
  const busy = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  /** The provider could not be asked: the key may still be good. */
  const untested = useSignal(false);
  const saved = useSignal<Saved | undefined>(undefined);
  /** Where the person agrees to a login that is waited for. */
  const page_of_login = useSignal<string | undefined>(undefined);
  const chosen = providers.find((it) => it.provider === provider.value);
  const page = Object.hasOwn(KNOWN, provider.value) ? KNOWN[provider.value].page : undefined;
  const save = async (test: boolean) => {
    if (busy.peek() || key.peek().trim() === "") return;
    busy.value = true;
    problem.value = saved.value = undefined;
    untested.value = false;
    try {
      const params = { provider: provider.value, key: key.value, test };
      saved.value = await client.call("models.save_key", params);
      key.value = "";
      announcer.say(`The key of ${nameOf(params.provider)} is saved.`);
      await onSaved();
    } catch (error) {
      problem.value = explain(error);
      untested.value = error instanceof RpcError && error.code === "unavailable";
    }
    busy.value = false;
  };
  const forget = () => {
    problem.value = saved.value = page_of_login.value = undefined;
    untested.value = false;
  };
  const login = async () => {
    const { value } = provider;
    forget();
    const { url } = await client.call("models.login", { provider: value });
    keepLogin(LOGIN, { name: value, url });
    // A browser that does not open it leaves the link.
    open(url, "_blank", "noopener");
    waitFor(url, value);
  };
  const waitFor = async (url: string, provider: string, is_left = false) => {
    page_of_login.value = url;
    // Also if another provider is chosen meanwhile, the key is saved.
    const told = () => page_of_login.peek() === url;
    try {
      const params = { provider };
      const options = { timeout_ms: LOGIN_DEADLINE_MS };
      const done = await client.call("models.login_result", params, options);
      announcer.say(`The key of ${nameOf(provider)} is saved.`);
      if (told()) saved.value = done;
      // Not waited for: a login that has ended is not left when the page is loaded anew meanwhile.
      onSaved();
    } catch (error) {
      // It came to its end while the page was loaded.
      const gone = is_left && error instanceof RpcError && error.code === "not_found";
      if (told() && !gone) problem.value = explain(error);
    }
    if (leftLogin(LOGIN)?.url === url) keepLogin(LOGIN, undefined);
    if (told()) page_of_login.value = undefined;
  };
  useEffect(() => {
    const left = leftLogin(LOGIN);
    if (left === undefined || !providers.some((it) => it.provider === left.name)) return;
    provider.value = left.name;
    waitFor(left.url, left.name, true);
  }, []);
  const found = saved.value;
  return (
    <section class="model-card key-card" aria-label="API key">
      <header>
        <h3>API key</h3>
        {chosen?.key_from && <Chip tone="done">Has a key</Chip>}
      </header>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          save(true);
        }}
      >
        <div class="columns">
          <Field label="Provider">
            {(control) => (
              <select
                {...control}
                value={provider}
                onChange={({ currentTarget }) => {
                  provider.value = currentTarget.value;
                  forget();
                }}
              >
                {providers.map(({ provider }) => (
                  <option key={provider} value={provider}>{nameOf(provider)}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Key">
            {(control) => (
              <input
                {...control}
                type="password"
                autocomplete="off"
                spellcheck={false}
                value={key}
                onInput={({ currentTarget }) => {
                  key.value = currentTarget.value;
                  forget();
                }}
              />
            )}
          </Field>
        </div>
        <p class="field-hint">
          It is stored on this machine, for you alone, and sent only to {chosen?.address}.{" "}
          {page && <a href={page} target="_blank" rel="noreferrer">Get a key</a>}
        </p>
        {chosen?.problem && !found && <p class="field-error">{chosen.problem}</p>}
        {problem.value && <p class="form-error" role="alert">{problem}</p>}
        {page_of_login.value && (
          <p role="status">
            Waiting until you agree on{" "}
            <a href={page_of_login} target="_blank" rel="noreferrer">the page of the login</a>.
          </p>
        )}
        <div class="card-foot">
          <Button
            type="submit"
            tone="primary"
            disabled={key.value.trim() === ""}
            aria-busy={busy.value}
          >
            Test and save
          </Button>
          {untested.value && <Button onClick={() => save(false)}>Save without a test</Button>}
          {chosen?.login && <Button onClick={login}>Log in with {nameOf(chosen.provider)}</Button>}
        </div>
      </form>
      {found && (
        <div class="key-saved" role="status">
          <p>
            {found.tested
              ? `The key works. It can use ${counted(found.models_count)}.`
              : "The key is saved, but was not tested."}
            {found.key_from === "environment" &&
              " The daemon's environment has a key too, and that one is used."}
          </p>
          {found.model && (
            <ModelChoice
              label={`Model of ${nameOf(found.provider)}`}
              models={[...new Set([found.model, ...found.models])]}
              onModel={onModel}
            />
          )}
        </div>
      )}
    </section>
  );
}

interface ModelChoiceProps extends SetupProps {
  label: string;
  models: readonly string[];
}

function ModelChoice({ label, models, onModel }: ModelChoiceProps) {
  const model = useSignal(models[0]);
  return (
    <div class="joined">
      <select
        aria-label={label}
        value={model}
        onChange={({ currentTarget }) => model.value = currentTarget.value}
      >
        {models.map((id) => <option key={id} value={id}>{id.slice(id.indexOf("/") + 1)}</option>)}
      </select>
      <Button tone="primary" onClick={() => onModel(model.value)}>Use it</Button>
    </div>
  );
}
