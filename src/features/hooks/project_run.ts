/** Runs a project's hook: in the sandbox, in the session's directory, as its commands run. */
import { shellQuote } from "../../base/shell_quote.ts";
import { runProcess } from "../../jail/process.ts";
import { Bounded, OUTPUT_MAX } from "../../os/program_with_input.ts";
import type { Session } from "../../session/session.ts";
import type { Host } from "../../verbs/host.ts";
import type { ProgramEnd } from "./claude_messages.ts";
import type { ProjectHook } from "./project.ts";

/** Ends the input. No JSON on one line is the same. */
const END = "SVC_HOOK_INPUT";

export type ProjectHost = Pick<Host, "sandbox" | "scope" | "space" | "networkOf" | "turn_parts">;

/**
 * Runs a line of a project with text on its standard input.
 *
 * @param input one line
 * @throws {Error} when it cannot be started, takes too long or writes too much, and where commands
 * have no sandbox
 * @throws the signal's reason
 */
export async function runProjectHook(
  { sandbox: find, scope, space, networkOf, turn_parts }: ProjectHost,
  { line, timeout_s }: Pick<ProjectHook, "line" | "timeout_s">,
  { id: session_id, state }: Session,
  input: string,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  const sandbox = await find();
  if (sandbox.kind === "none") {
    throw new Error("a project's hooks run only in a sandbox, and this machine has none");
  }
  const { workdir } = state;
  const own = await space(session_id);
  const ended = new AbortController();
  const output = new Bounded();
  const errors = new Bounded();
  await sandbox.starts.next();
  // Claude Code has bash run them.
  const shell = 'exec "$(command -v bash || echo sh)"';
  const end = await runProcess({
    argv: sandbox.argv(`${shell} -c ${shellQuote(line)} <<'${END}'\n${input}\n${END}\n`, {
      ...scope(workdir),
      session_id,
      added: turn_parts.added({ state } as Session),
      space: own,
      checkout: own?.checkout,
      network: networkOf(state) === true,
      env: { CLAUDE_PROJECT_DIR: workdir },
    }),
    cwd: workdir,
    sandbox: sandbox.kind,
    timeout_ms: timeout_s * 1_000,
    term_grace_ms: 0,
    signal: AbortSignal.any([signal, ended.signal]),
    onStdout(chunk) {
      if (!output.push(chunk)) ended.abort();
    },
    onStderr: (chunk) => void errors.push(chunk),
  }).catch((error) => {
    if (ended.signal.aborted && !signal.aborted) {
      throw new Error(`it wrote more than ${OUTPUT_MAX} bytes`);
    }
    throw error;
  });
  if (end.timed_out) throw new Error(`it did not end within ${timeout_s} s`);
  if (end.exit_code === null) throw new Error(`it was ended by ${end.signal ?? "a signal"}`);
  return { code: end.exit_code, output: output.text(), errors: errors.text() };
}
