import * as z from "zod";
import type { Kind } from "./detect.ts";
import { type Context, verbsOf } from "../../verbs/define.ts";
import { place, type PlaceServices, workdirOf } from "../../verbs/workdir.ts";
import type { Session } from "../../session/session.ts";
import type { Granted, Sandbox, SandboxScope } from "../../jail/sandbox.ts";

interface VerifyServices extends PlaceServices {
  /** @throws {Error} when the configured sandbox does not work */
  sandbox(): Promise<Sandbox>;
  /** What a command in a directory can see. */
  scope(workdir: string): SandboxScope;
  /** What the person grants to a command, of a session or their own. */
  granted(session_id?: string): Promise<Granted>;
  /** What commands of a session reach: nothing, allowed hosts or all. */
  networkOf(session: Session["state"]): boolean | "allowed";
  /** Reports files that are written until the returned function is called. */
  watchWrites(session: Session): Promise<() => Promise<void>>;
}

const defineVerb = verbsOf<VerifyServices>();

const TIMEOUT_S = 600;
/** Of a progress report, in characters. */
const MESSAGE_MAX = 200;

const limits = () => ({
  ...place(),
  timeout_s: z.int().min(1).max(3_600).default(TIMEOUT_S)
    .describe(`Time limit in seconds, ${TIMEOUT_S} by default`),
});

const result = () => ({
  command: z.string().describe("The command that was run"),
  detected_by: z.string().describe("The file that defines the command"),
  exit_code: z.int().nullable().describe("null if a signal or the time limit ended the command"),
  timed_out: z.boolean(),
  log_tail: z.string().describe("The end of the output"),
  duration_ms: z.int(),
});

export const verifyVerbs = [
  defineVerb({
    name: "verify.build",
    summary: "Builds a project with the command that its own files define.",
    access: "write",
    input: () => z.object(limits()),
    output: () => z.object(result()),
    handle: (context, params) => run(context, "build", params),
  }),
  defineVerb({
    name: "verify.test",
    summary: "Runs the tests of a project and lists the failing ones.",
    access: "write",
    input: () =>
      z.object({
        ...limits(),
        packages: z.array(z.string().min(1)).max(100).optional()
          .describe("Parts of the project to test, as names or paths that its test tool accepts"),
      }),
    output: () =>
      z.object({
        ...result(),
        passed: z.int().optional().describe("Absent if the report could not be parsed"),
        failed: z.int().optional(),
        failing: z.array(z.string()).optional().describe("The first 200 failing tests"),
      }),
    handle: (context, params) => run(context, "test", params),
  }),
  defineVerb({
    name: "verify.lint",
    summary: "Lints a project with the command that its own files define.",
    access: "write",
    input: () => z.object(limits()),
    output: () => z.object(result()),
    handle: (context, params) => run(context, "lint", params),
  }),
];

interface Params {
  session_id?: string;
  workdir?: string;
  timeout_s: number;
  packages?: string[];
}

async function run(
  context: Context<VerifyServices>,
  kind: Kind,
  { timeout_s, packages, ...at }: Params,
) {
  const { services, signal } = context;
  let reports = 0;
  const workdir = await workdirOf(context, at);
  // Loaded on first use.
  const { verify } = await import("./verify.ts");
  const { session_id } = at;
  const session = session_id === undefined ? undefined : await services.hub.get(session_id);
  const endWatch = session && await services.watchWrites(session);
  try {
    return await verify({
      kind,
      packages,
      scope: {
        ...services.scope(workdir),
        ...(session && { network: services.networkOf(session.state) === true }),
        ...await services.granted(session_id),
      },
      sandbox: await services.sandbox(),
      timeout_ms: timeout_s * 1_000,
      signal,
      onOutput: (text) => context.progress({ progress: ++reports, message: lastLine(text) }),
    });
  } finally {
    await endWatch?.();
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)!.slice(0, MESSAGE_MAX);
}
