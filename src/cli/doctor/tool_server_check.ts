import { deadline } from "@std/async";
import { connect } from "../../client/connect.ts";
import type { RpcClient } from "../../client/rpc.ts";
import { credentialsOf } from "../../features/tool_servers/credentials.ts";
import { readPolicy } from "../../features/tool_servers/policy.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { useOnce } from "../daemon_call.ts";
import type { CheckResult, Patient } from "./check.ts";

interface Server {
  name: string;
  enabled: boolean;
  problem?: string;
}

const ANSWER_MS = 5_000;

/** Checks `policy.yaml` and what its servers need. Starts none of them. */
export async function toolServers(patient: Patient): Promise<CheckResult> {
  let servers: Server[];
  try {
    servers = await ownServers(patient);
  } catch (error) {
    const hint = error instanceof SvcError ? error.hint : undefined;
    return { status: "fail", message: messageOf(error), hint };
  }
  if (servers.length === 0) {
    return { status: "ok", message: "none configured in policy.yaml" };
  }
  if (patient.daemon !== undefined) servers = await daemonServers(patient);
  const problems = servers.flatMap(({ problem }) => problem ?? []);
  const good = servers.filter(({ enabled, problem }) => enabled && problem === undefined);
  const names = good.map(({ name }) => name).join(", ") || "none of them can be used";
  return problems.length === 0
    ? { status: "ok", message: `${names}; \`svc ctl call mcp.test_server\` tests one` }
    : {
      status: "warn",
      message: `${names}; ${problems.join("; ")}`,
      hint: "set the variable in the daemon's environment, then run `svc serve restart`",
    };
}

async function ownServers({ paths, env }: Patient): Promise<Server[]> {
  const { servers } = await readPolicy(paths.policy);
  return servers.map((entry) => {
    const { name, enabled } = entry;
    const found = enabled ? credentialsOf(entry, env) : {};
    return { name, enabled, problem: "problem" in found ? `${name}: ${found.problem}` : undefined };
  });
}

async function daemonServers({ paths }: Patient): Promise<Server[]> {
  const ask = (rpc: RpcClient) => deadline(rpc.call("mcp.list_servers"), ANSWER_MS);
  return (await useOnce(connect(paths), ask)).servers;
}
