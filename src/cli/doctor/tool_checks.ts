/** Checks of what sessions work with: models, the sandbox, paths, git, a browser. */
import { deadline } from "@std/async";
import { basename, dirname } from "@std/path";
import { connect } from "../../client/connect.ts";
import type { DaemonStatus } from "../../client/status.ts";
import type { HomePaths } from "../../os/paths.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { detectSandbox } from "../../jail/sandbox.ts";
import { grantedPlaces } from "../../jail/granted_places.ts";
import { grantedVariables } from "../../jail/granted_variables.ts";
import { OPENED } from "../../jail/grants.ts";
import { notHeld } from "../../jail/holds.ts";
import { heldLimits } from "../../jail/open_limits.ts";
import { realDirectory } from "../../jail/toolchains.ts";
import { absence } from "../../os/own_programs.ts";
import { findBrowser } from "../../os/browsers.ts";
import { messageOf } from "../../protocol/errors.ts";
import { chooseRooted } from "../../jail/rooted.ts";
import { runProgram } from "../../os/program.ts";
import { useOnce } from "../daemon_call.ts";
import { ownRegistry } from "../own_models.ts";
import { type CheckResult, type Patient, workdirsOf } from "./check.ts";

/** How long the daemon may take to ask a server on this machine. */
const ANSWER_MS = 5_000;

/** Checks the configured providers: the daemon's, or without one this environment's. */
export async function models({ daemon, config, env, paths }: Patient): Promise<CheckResult> {
  if (daemon === undefined && config === undefined) {
    return { status: "warn", message: "unknown, because daemon.toml cannot be read" };
  }
  const { list, default_id, problem } = daemon === undefined
    ? ownModels(ownRegistry(config!, env, paths))
    : await modelsOf(paths, daemon);
  if (problem !== undefined) {
    return {
      status: "fail",
      message: `the default model is ${default_id}, and cannot be used: ${problem}`,
      hint:
        "`svc models` lists the models that can; set default_model in daemon.toml to one of them",
    };
  }
  const configured = list.filter((it) => it.configured).map(({ provider }) => provider);
  const message = `${configured.join(", ")}; the default is ${default_id}`;
  if (!default_id.startsWith("builtin/")) return { status: "ok", message };
  return {
    status: "warn",
    message,
    hint: "no model has a key: `svc login` saves one, and `svc models` lists the models",
  };
}

interface FoundModels {
  list: readonly { provider: string; configured: boolean }[];
  default_id: string;
  /** Why the default model cannot be used. */
  problem?: string;
}

function ownModels(registry: ModelRegistry): FoundModels {
  const default_id = registry.defaultId();
  let problem: string | undefined;
  try {
    registry.check(default_id);
  } catch (error) {
    problem = messageOf(error);
  }
  return { list: registry.list(), default_id, problem };
}

/** The models of a running daemon, which asks a provider on this machine whether it is up. */
async function modelsOf(paths: HomePaths, daemon: DaemonStatus): Promise<FoundModels> {
  const { models: list, default_model: default_id } = daemon;
  const provider = default_id.slice(0, default_id.indexOf("/"));
  if (default_id.startsWith("builtin/") || default_id.startsWith("acp/")) {
    return { list, default_id };
  }
  const problem = await askProvider(paths, provider).catch(messageOf);
  return { list, default_id, problem };
}

function askProvider(paths: HomePaths, provider: string): Promise<string | undefined> {
  return useOnce(connect(paths), async (rpc) => {
    const known = await deadline(rpc.call("models.list", { provider, ask: false }), ANSWER_MS);
    const [{ configured, address, problem }] = known.providers;
    if (!configured || problem !== undefined) {
      return `${provider} ${problem ?? "is not configured"}`;
    }
    const host = URL.parse(address ?? "")?.hostname ?? "";
    if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(host)) return undefined;
    const asked = await deadline(rpc.call("models.list", { provider }), ANSWER_MS);
    const refused = asked.providers[0].problem;
    // Some servers do not list their models.
    return /nothing answers|cannot reach|answered 40[13]/.test(refused ?? "") ? refused : undefined;
  });
}

/** Checks the sandbox of commands. */
export async function sandbox({ config }: Patient): Promise<CheckResult> {
  try {
    using found = await detectSandbox(config?.sandbox.shell ?? "auto");
    const { kind, note, mend, hidden_path, filtered, bounded, forwards } = found;
    const unbounded = bounded ? "" : "; the kernel does not limit the number of their processes";
    const message = `commands run in bubblewrap${unbounded}`;
    if (kind === "bubblewrap" && hidden_path.length > 0) {
      return {
        status: "warn",
        message: `${message}; these directories on PATH are hidden from them: ${
          hidden_path.join(", ")
        }`,
        hint:
          "keep programs in directories of their own: a home or a directory of temporary files is not shown",
      };
    }
    if (kind === "bubblewrap" && !forwards && config?.sandbox.network === "allowed") {
      return {
        status: "warn",
        message:
          `${message}; they have no network, because this machine does not support allowed hosts`,
        hint: "allowed hosts need glibc on x86-64 or ARM64; otherwise set network = false or true",
      };
    }
    if (kind === "bubblewrap" && !filtered) {
      return {
        status: "warn",
        message: `${message}; their system calls are not filtered`,
        hint: "filtering needs a kernel with CONFIG_SECCOMP_FILTER on x86-64 or ARM64",
      };
    }
    if (kind === "bubblewrap") return { status: "ok", message };
    if (kind === "landlock" || kind === "seatbelt") {
      const name = kind === "landlock" ? "Landlock" : "Seatbelt";
      return {
        status: "warn",
        message: `commands run under ${name}, which holds less than bubblewrap: ${note}. They ` +
          `can ${notHeld(found).join(", ")}${
            config?.sandbox.network === "allowed" ? "; they have no network" : ""
          }`,
        hint: mend ?? 'install bubblewrap, and set shell = "auto" in daemon.toml',
      };
    }
    return {
      status: "warn",
      message: `commands run as plain processes: ${note}`,
      hint: mend ?? "install bubblewrap, or review commands carefully before you approve them",
    };
  } catch (error) {
    return { status: "fail", message: messageOf(error) };
  }
}

/** Lists what of the machine commands can reach, and what that opens. */
export async function grants({ config, env }: Patient): Promise<CheckResult> {
  if (config === undefined) {
    return { status: "warn", message: "unknown, because daemon.toml cannot be read" };
  }
  const { grant: granted, git_credentials: git_hosts, network } = config.sandbox;
  if (granted.length === 0 && git_hosts.length === 0) {
    return { status: "ok", message: "nothing of the machine is granted to commands" };
  }
  const environment = Deno.env.toObject();
  const { there } = grantedPlaces(granted, {
    environment: { ...environment, ...grantedVariables(config.sandbox.env, environment) },
    home: realDirectory(env("HOME")),
    writable: [],
  });
  const said = granted.map((grant) =>
    `${grant}: ${OPENED[grant]}${there.includes(grant) ? "" : " (not there)"}`
  );
  if (git_hosts.length > 0) {
    said.push(`git uses your credentials at ${git_hosts.join(", ")}, and asks you about pushes`);
  }
  const message = said.join("; ");
  if (git_hosts.length === 0) return { status: "ok", message };
  if (network !== "allowed") {
    return {
      status: "warn",
      message: `${message}; this does not apply, because network is ${network}`,
      hint: 'git_credentials need network = "allowed" under [sandbox] in daemon.toml',
    };
  }
  // The check of the sandbox says why there is none.
  using found = await detectSandbox(config.sandbox.shell).catch(() => undefined);
  if (found?.forwards) return { status: "ok", message };
  return {
    status: "warn",
    message: `${message}; this does not apply, because commands ${
      found?.kind === "bubblewrap"
        ? "have no way to allowed hosts here"
        : "do not run in bubblewrap"
    }`,
    hint: "git_credentials need bubblewrap, and glibc on x86-64 or ARM64",
  };
}

/** Checks where the PATH of commands comes from. */
export function path({ daemon }: Patient): CheckResult {
  // An older daemon says nothing about it.
  if (daemon?.command_path === undefined) return { status: "ok", message: "no daemon tells it" };
  const { source, added, problem } = daemon.command_path;
  const message = `from ${source}${added.length === 0 ? "" : `: ${added.join(", ")}`}`;
  if (problem === undefined) return { status: "ok", message };
  return {
    status: "warn",
    message: `${message}; ${problem}`,
    hint: "mend the shell's start-up files and run `svc serve restart`, " +
      "or set login_path = false under [sandbox] in daemon.toml",
  };
}

/** Checks how the limits of a session's commands are enforced. */
export function limits({ daemon }: Patient): CheckResult {
  const { by, why } = heldLimits(daemon?.pid ?? Deno.pid);
  const what = "the memory and processes of a session's commands";
  if (by === "cgroup") {
    return { status: "ok", message: `a control group holds ${what} together` };
  }
  if (by === "watch") {
    return {
      status: "ok",
      message: `svc watches ${what} together, as well as limits for each process, because ${why}`,
      hint: "where systemd uses cgroup v2, the service of `svc serve --install` has control groups",
    };
  }
  return {
    status: Deno.build.os === "linux" ? "warn" : "ok",
    message: `limits hold for each process of a command only: ${why}`,
  };
}

/** Checks how the file tools keep paths inside the workdir. */
export function fileTools(): CheckResult {
  using chosen = chooseRooted("/");
  const { mechanism } = chosen.view([]);
  if (mechanism === "openat2") {
    return { status: "ok", message: "openat2 keeps paths inside the workdir" };
  }
  return {
    status: Deno.build.os === "linux" ? "warn" : "ok",
    message:
      "realpath keeps paths inside the workdir; a link swapped at the right moment can still escape",
    hint: Deno.build.os === "linux" ? "openat2 needs Linux 5.6 or later with glibc" : undefined,
  };
}

/** Checks git, for worktrees. */
export async function git(patient: Patient): Promise<CheckResult> {
  const said = await runProgram("git", ["--version"], workdirsOf(patient));
  if (said?.success) return { status: "ok", message: said.stdout };
  return {
    status: "warn",
    message: `git ${absence("git", patient.env("PATH"), workdirsOf(patient))}`,
    hint: "worktrees, missions and undo need a git that no session can write to",
  };
}

/** Checks for a browser, for hired browser tasks. */
export function browser(patient: Patient): CheckResult {
  const found = findBrowser(patient.env, workdirsOf(patient));
  if (found !== undefined) return { status: "ok", message: found };
  const untrusted = findBrowser(patient.env, []);
  return {
    status: "warn",
    message: untrusted === undefined
      ? "found no Chromium, Chrome, Edge or Brave"
      : `${basename(untrusted)} ${
        absence(basename(untrusted), dirname(untrusted), workdirsOf(patient))
      }`,
    hint: "browser tasks and `svc desktop` need one that no session can write to",
  };
}
