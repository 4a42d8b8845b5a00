/** The question whether a call may be made, in the words of the Agent Client Protocol. */
import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { readUntrusted } from "../jail/untrusted_files.ts";
import { exactLine } from "../base/visible.ts";
import { alwaysText, type Question, questionText } from "../session/question.ts";
import { type Call, diffOf, fenced, fileOf, textContent } from "./updates.ts";

/** An approval that waits, as far as the editor is told of it. */
export interface AskedApproval extends Question {
  approval_id: string;
  call_id: string;
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
export function question(
  sessionId: string,
  asked: AskedApproval,
  call: Call | undefined,
): RequestPermissionRequest {
  if (call?.tool === "write_file") call.before = textOf(call.workdir, fileOf(call)!);
  return {
    sessionId,
    toolCall: {
      toolCallId: asked.call_id,
      title: exactLine(asked.reason),
      status: "pending",
      // A diff is drawn by the editor as it likes; the text beside it hides nothing.
      content: [...call ? diffOf(call) : [], textContent(fenced(questionText(asked)))],
    },
    options: OPTIONS.map((it) =>
      it.optionId === "allow_always" ? { ...it, name: `${it.name}: ${alwaysText(asked)}` } : it
    ),
  };
}

/** What the person has decided, in the words of `session.approve`. */
export function decisionOf({ outcome }: RequestPermissionResponse): string {
  return outcome.outcome === "selected" ? outcome.optionId : "deny";
}

/** What stands in a file; undefined where there is none, or none that is small text. */
function textOf(workdir: string, path: string): string | undefined {
  try {
    return readUntrusted(workdir, (files) => files.text(path, DIFF_MAX));
  } catch {
    return undefined;
  }
}
