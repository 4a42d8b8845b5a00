import { formatDuration } from "../../base/duration.ts";
import type { Kind } from "./detect.ts";
import type { VerifyResult } from "./verify.ts";

/** Describes a result for a model: the verdict first, the end of the log last. */
export function outcomeText(kind: Kind, result: VerifyResult): string {
  const { command, detected_by, passed, failed, failing = [], duration_ms } = result;
  const counts = passed === undefined ? "" : `: ${passed} passed, ${failed} failed`;
  return [
    `${kind} ${verdict(result)}${counts}`,
    `ran ${command} (${detected_by}) for ${formatDuration(duration_ms)}`,
    ...(failing.length > 0 ? ["failing:", ...failing.map((name) => `  ${name}`)] : []),
    "",
    result.log_tail.trimEnd(),
  ].join("\n");
}

function verdict({ exit_code, timed_out }: VerifyResult): string {
  if (timed_out) return "timed out";
  if (exit_code === null) return "was stopped by a signal";
  return exit_code === 0 ? "succeeded" : `failed with exit code ${exit_code}`;
}
