/** The question whether a call may be made, in the words of the Agent Client Protocol. */
import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { type Call, diffOf, fileOf } from "./updates.ts";

/** An approval that waits, as far as the editor is told of it. */
export interface AskedApproval {
  approval_id: string;
  call_id: string;
  reason: string;
}

const OPTIONS: PermissionOption[] = [
  { optionId: "allow", name: "Allow", kind: "allow_once" },
  { optionId: "allow_always", name: "Always allow", kind: "allow_always" },
  { optionId: "deny", name: "Deny", kind: "reject_once" },
];
/** A file is read for its diff up to this size, in bytes. */
const DIFF_MAX = 1024 * 1024;

/**
 * Puts an approval as a question.
 *
 * @param call what it is about, where that is a call of a tool; what stands in the file that it
 * writes is kept in it.
 */
export async function question(
  sessionId: string,
  { call_id, reason }: AskedApproval,
  call: Call | undefined,
): Promise<RequestPermissionRequest> {
  if (call?.tool === "write_file") call.before = await textOf(fileOf(call)!);
  return {
    sessionId,
    toolCall: {
      toolCallId: call_id,
      title: reason,
      status: "pending",
      content: call && diffOf(call),
    },
    options: OPTIONS,
  };
}

/** What the person has decided, in the words of `session.approve`. */
export function decisionOf({ outcome }: RequestPermissionResponse): string {
  return outcome.outcome === "selected" ? outcome.optionId : "deny";
}

/** What stands in a file; undefined where there is none, or none that is small text. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    const { size, isFile } = await Deno.stat(path);
    return isFile && size <= DIFF_MAX ? await Deno.readTextFile(path) : undefined;
  } catch {
    return undefined;
  }
}
