import * as z from "zod";
import {
  defineTool,
  type Tool,
  type ToolOutcome,
  type ToolParts,
  type ToolScope,
} from "../../agent/tool.ts";
import { couldGrant, couldReach, stillGranted, unseenPrograms } from "../../agent/run_command.ts";
import { COMMAND_TIMEOUT_MAX_S, isConfined } from "../../agent/tools.ts";
import { type Grant, grantedWords } from "../../jail/grants.ts";
import { heldText } from "../../jail/holds.ts";
import { decideHost, refusalNotes } from "../../agent/way_out.ts";
import type { Agreed } from "./verify.ts";

const VERIFY_TIMEOUT_S = 600;

type VerifyToolParts = Pick<ToolParts, "sandbox" | "network" | "space" | "granted" | "wayOut">;

const verifyInput = () =>
  z.strictObject({
    what: z.enum(["build", "test", "lint"]),
    packages: z.array(z.string().min(1)).max(100).optional()
      .describe("Parts to test, by the names or paths that the project's own tool takes"),
    timeout_s: z.int().min(1).max(COMMAND_TIMEOUT_MAX_S).optional()
      .describe(`Time limit in seconds, ${VERIFY_TIMEOUT_S} by default`),
  });

/** Returns the tool with which a model builds, tests or lints its project. */
export function verifyTool(parts: VerifyToolParts): Tool {
  return defineTool({
    name: "verify",
    description: "Builds, tests or lints the project as its own files say (deno.json, " +
      "package.json, Cargo.toml, go.mod, pyproject.toml, Makefile); tells which tests fail.",
    access: "execute",
    input: verifyInput(),
    async prepare({ timeout_s, ...args }, workdir, session_id) {
      const { detect } = await import("./detect.ts");
      const { runsOf } = await import("./verify.ts");
      const detected = detect(workdir, args.what, args.packages);
      const { detected_by, script } = detected;
      const { grants: granted = [] } = await parts.granted(session_id);
      return {
        ...args,
        timeout_s,
        runs: runsOf(detected),
        detected_by,
        script,
        ...(granted.length > 0 ? { granted } : {}),
      };
    },
    describe: ({ what, runs, granted }) =>
      `verify ${[what, grantedWords(granted)].filter((it) => it !== undefined).join(" ")}: ${runs}`,
    rule({ runs, detected_by, script }) {
      const says = script === undefined ? "" : `, which runs by ${detected_by}: ${script}`;
      return `verify ${runs}${says}`;
    },
    stays: ({ granted = [] }, session_id) => isConfined(parts, granted, session_id),
    held: async (_, session_id) => heldText(await parts.sandbox(), await parts.network(session_id)),
    run: (args, scope) => verifyProject(parts, args, scope),
  });
}

async function verifyProject(
  parts: VerifyToolParts,
  { what, packages, timeout_s = VERIFY_TIMEOUT_S, granted = [], ...agreed }:
    & Agreed
    & { granted?: readonly Grant[] }
    & z.output<ReturnType<typeof verifyInput>>,
  { session_id, workdir, hidden, added, signal, onOutput, mayConnect }: ToolScope,
): Promise<ToolOutcome> {
  const { verify } = await import("./verify.ts");
  const { outcomeText } = await import("./outcome.ts");
  const space = await parts.space(session_id);
  const { env, grants } = await parts.granted(session_id);
  const network = await parts.network(session_id);
  await using way_out = network
    ? undefined
    : await parts.wayOut(session_id, decideHost(mayConnect));
  const { checkout } = space ?? {};
  const proxy = way_out?.proxy;
  const scope = {
    session_id,
    workdir,
    hidden,
    added,
    env,
    grants: stillGranted(grants, granted),
    space,
    checkout,
    network,
    proxy,
  };
  const sandbox = await parts.sandbox();
  const timeout_ms = timeout_s * 1000;
  const waited_ms = () => way_out?.waited_ms ?? 0;
  const how = { scope, sandbox, timeout_ms, waited_ms, signal, onOutput };
  const result = await verify({ kind: what, packages, agreed, ...how });
  const { exit_code, log_tail } = result;
  const notes = [
    ...unseenPrograms({ exit_code, output: log_tail }, sandbox, scope),
    ...(exit_code === 0 ? [] : couldGrant(log_tail, sandbox, scope)),
    ...(exit_code === 0 ? [] : couldReach(log_tail, sandbox, scope)),
    ...refusalNotes(way_out),
  ];
  return {
    ok: exit_code === 0,
    output: [outcomeText(what, result), ...notes].join("\n"),
    exit_code: exit_code ?? undefined,
  };
}
