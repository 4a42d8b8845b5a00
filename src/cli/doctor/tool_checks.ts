/** Checks of what sessions work with: models, the sandbox, how paths are kept, git, a browser. */
import { agentProblem } from "../../models/acp_entry.ts";
import { ModelRegistry } from "../../models/registry.ts";
import { toolbelt } from "../../models/toolbelt.ts";
import { detectSandbox } from "../../jail/sandbox.ts";
import { findBrowser } from "../../os/browsers.ts";
import { messageOf } from "../../protocol/errors.ts";
import { chooseBeneath } from "../../jail/beneath.ts";
import { runProgram } from "../../os/program.ts";
import { type Finding, type Patient, workdirsOf } from "./check.ts";

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
    builtin: () => toolbelt(() => ""),
    agentProblem: (name) => agentProblem(name, config.acp, env),
  });
  return { list: registry.list(), default_id: registry.defaultId() };
}

/** What commands run under. */
export async function sandbox({ config }: Patient): Promise<Finding> {
  const name = "sandbox";
  try {
    using found = await detectSandbox(config?.sandbox.shell ?? "auto");
    const { kind, note, hidden_path, filtered, bounded } = found;
    const unbounded = bounded ? "" : "; the number of their processes has no limit";
    const message = `commands run in bubblewrap${unbounded}`;
    if (kind === "bubblewrap" && hidden_path.length > 0) {
      return {
        name,
        status: "warn",
        message: `${message}; they do not see these directories of PATH: ${hidden_path.join(", ")}`,
        hint: "install what commands need into a directory that is called bin, outside of projects",
      };
    }
    if (kind === "bubblewrap" && !filtered) {
      return {
        name,
        status: "warn",
        message: `${message}; nothing filters their system calls`,
        hint: "a kernel with CONFIG_SECCOMP_FILTER on x86-64 or ARM64 can",
      };
    }
    if (kind === "bubblewrap") return { name, status: "ok", message };
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
export async function git(patient: Patient): Promise<Finding> {
  const name = "git";
  const said = await runProgram("git", ["--version"], workdirsOf(patient));
  if (said?.success) return { name, status: "ok", message: said.stdout };
  return { name, status: "warn", message: "git is not there", hint: "worktrees need it" };
}

/** A browser, for hired browser tasks. */
export function browser(patient: Patient): Finding {
  const name = "browser";
  const found = findBrowser(patient.env, workdirsOf(patient));
  if (found !== undefined) return { name, status: "ok", message: found };
  return {
    name,
    status: "warn",
    message: "no Chromium, Chrome, Edge or Brave is there",
    hint: "browser tasks and `svc desktop` need one",
  };
}
