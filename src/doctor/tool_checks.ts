/** Checks of what sessions work with: models, the sandbox, how paths are kept, git, a browser. */
import { join } from "@std/path";
import { ModelRegistry } from "../agent/models/registry.ts";
import { toolbelt } from "../agent/models/toolbelt.ts";
import { detectSandbox } from "../agent/sandbox.ts";
import { messageOf } from "../platform/errors.ts";
import { chooseBeneath } from "../platform/beneath.ts";
import { exists, type Finding, output, type Patient } from "./check.ts";

/** Which providers are configured: by the daemon's environment, or without one by our own. */
export function models({ daemon, config, env }: Patient): Finding {
  const name = "models";
  if (daemon === undefined && config === undefined) {
    return { name, status: "warn", message: "unknown: daemon.toml cannot be read" };
  }
  const { list, default_id } = daemon === undefined ? ownModels(config!, env) : {
    list: daemon.models,
    default_id: daemon.default_model,
  };
  const configured = list.filter((it) => it.configured).map(({ provider }) => provider);
  const message = `${configured.join(", ")}; the default is ${default_id}`;
  if (!default_id.startsWith("builtin/")) return { name, status: "ok", message };
  const where = daemon === undefined ? "" : " where the daemon is started";
  return {
    name,
    status: "warn",
    message,
    hint: `set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY${where}`,
  };
}

function ownModels(config: NonNullable<Patient["config"]>, env: Patient["env"]) {
  const registry = new ModelRegistry({
    models: config.models,
    env,
    default_model: config.default_model,
    builtin: toolbelt(() => ""),
  });
  return { list: registry.list(), default_id: registry.defaultId() };
}

/** What commands run under. */
export async function sandbox({ config }: Patient): Promise<Finding> {
  const name = "sandbox";
  try {
    const { kind, note } = await detectSandbox(config?.sandbox.shell ?? "auto");
    if (kind === "bubblewrap") return { name, status: "ok", message: "commands run in bubblewrap" };
    return {
      name,
      status: "warn",
      message: `commands run as plain processes: ${note}`,
      hint: "install bubblewrap, or approve commands with care",
    };
  } catch (error) {
    return { name, status: "fail", message: messageOf(error) };
  }
}

/** How the file tools keep paths beneath the workdir. */
export function beneath(): Finding {
  const name = "file tools";
  using chosen = chooseBeneath("/");
  const { mechanism } = chosen.view([]);
  if (mechanism === "openat2") {
    return { name, status: "ok", message: "paths are kept beneath the workdir by openat2" };
  }
  return {
    name,
    status: Deno.build.os === "linux" ? "warn" : "ok",
    message: "paths are kept beneath the workdir by realpath; a race with a swapped link stays",
    hint: Deno.build.os === "linux" ? "Linux 5.6 or newer with glibc has openat2" : undefined,
  };
}

/** git, for worktrees. */
export async function git(): Promise<Finding> {
  const name = "git";
  const said = await output("git", ["--version"]);
  if (said?.success) return { name, status: "ok", message: said.stdout };
  return { name, status: "warn", message: "git is not there", hint: "worktrees need it" };
}

const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const BROWSER_APPS = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** A browser, for hired browser tasks. */
export function browser({ env }: Patient): Finding {
  const name = "browser";
  const dirs = (env("PATH") ?? "").split(":").filter((dir) => dir.startsWith("/"));
  const candidates = [
    ...dirs.flatMap((dir) => BROWSERS.map((program) => join(dir, program))),
    ...BROWSER_APPS,
  ];
  const found = candidates.find(exists);
  if (found !== undefined) return { name, status: "ok", message: found };
  return {
    name,
    status: "warn",
    message: "neither chromium nor chrome is there",
    hint: "browser tasks need one",
  };
}
