import { readDiscovery } from "../../client/discovery.ts";
import { daemonStatus } from "../../client/status.ts";
import { readConfig } from "../../config/read.ts";
import { SECTIONS } from "../../features/registry.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Env, HomePaths } from "../../os/paths.ts";
import { INDEX, type IndexEntry, IndexFile, knownPath, MISSING } from "../../session/index_file.ts";
import type { Check, Finding, Patient } from "./check.ts";
import { port, socket, token, versions } from "./daemon_checks.ts";
import { caches, config, disk, files, journals } from "./file_checks.ts";
import { service } from "./service_check.ts";
import { tasks } from "./task_check.ts";
import { browser, fileTools, git, grants, limits, models, path, sandbox } from "./tool_checks.ts";
import { toolServers } from "./tool_server_check.ts";

/** In the order in which they are shown, by what they examine. */
const CHECKS: readonly [name: string, check: Check][] = [
  ["versions", versions],
  ["service", service],
  ["files", files],
  ["config", config],
  ["socket", socket],
  ["port", port],
  ["token", token],
  ["journals", journals],
  ["disk", disk],
  ["caches", caches],
  ["models", models],
  ["sandbox", sandbox],
  ["grants", grants],
  ["path", path],
  ["limits", limits],
  ["file tools", fileTools],
  ["tool servers", toolServers],
  ["tasks", tasks],
  ["git", git],
  ["browser", browser],
];

/** Examines the daemon of these paths and what it needs. Changes nothing. */
export async function examine(paths: HomePaths, env: Env): Promise<Finding[]> {
  const patient = await gather(paths, env);
  return await Promise.all(CHECKS.map(async ([name, check]) => {
    try {
      return { name, ...await check(patient) };
    } catch (error) {
      return { name, status: "fail", message: `cannot be checked: ${messageOf(error)}` };
    }
  }));
}

/** The sessions that have ended; without the file, all count as open. */
function endedIn({ anchors }: HomePaths): Set<string> {
  try {
    const known = JSON.parse(Deno.readTextFileSync(knownPath(anchors)));
    return new Set(Object.keys(known).filter((id) => known[id]?.state === "ended"));
  } catch {
    return new Set();
  }
}

async function gather(paths: HomePaths, env: Env): Promise<Patient> {
  const patient: Patient = { paths, env, index: {}, ended: endedIn(paths) };
  try {
    patient.daemon = await daemonStatus(paths);
  } catch (error) {
    const absent = error instanceof SvcError && error.code === "not_found";
    if (!absent) patient.daemon_problem = messageOf(error);
  }
  patient.discovery = await readDiscovery(paths.discovery).catch(() => undefined);
  try {
    patient.config = await readConfig(paths.config, SECTIONS);
  } catch (error) {
    patient.config_problem = messageOf(error);
    if (error instanceof SvcError) patient.config_hint = error.hint;
  }
  try {
    const { entries, problem } = new IndexFile(paths.index, INDEX, () => ({})).read<IndexEntry>();
    patient.index = entries ?? {};
    if (problem !== MISSING) patient.index_problem = problem;
  } catch (error) {
    patient.index_problem = `cannot be read: ${messageOf(error)}`;
  }
  return patient;
}
