/** Questions to the person, in the terms of ACP. */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationPropertySchema,
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { readUntrusted } from "../jail/untrusted_files.ts";
import { exact, exactLine } from "../base/visible.ts";
import type { PersonAnswer, PersonQuestion } from "../protocol/person_question.ts";
import {
  alwaysText,
  personQuestionText,
  type Question,
  questionText,
} from "../session/question.ts";
import { type Call, diffOf, fenced, fileOf, textContent } from "./updates.ts";

export interface AskedApproval extends Question {
  approval_id: string;
  call_id: string;
  kind?: string;
}

const OPTIONS: PermissionOption[] = [
  { optionId: "allow", name: "Allow", kind: "allow_once" },
  { optionId: "allow_always", name: "Always allow", kind: "allow_always" },
  { optionId: "deny", name: "Deny", kind: "reject_once" },
];
/** The largest file for a diff, in bytes. */
const DIFF_MAX = 1024 * 1024;

/**
 * Converts an approval. @param call the tool call; the old content of the file that it writes is
 * stored in it
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
      // The editor draws the diff, but the text beside it hides nothing.
      content: [...call ? diffOf(call) : [], textContent(fenced(questionText(asked)))],
    },
    options: OPTIONS.map((it) =>
      it.optionId === "allow_always" ? { ...it, name: `${it.name}: ${alwaysText(asked)}` } : it
    ),
  };
}

/** Returns the decision for `session.approve`. */
export function decisionOf({ outcome }: RequestPermissionResponse): string {
  return outcome.outcome === "selected" ? outcome.optionId : "deny";
}

// ── questions of the model ─────────────────────────────────────────────────────────────────────

const CHOICE = "choice-";
const DONE = "done";
const SKIP: PermissionOption = { optionId: "skip", name: "Skip", kind: "reject_once" };

/**
 * Converts a model's question to buttons, all that ACP permissions have. With several choices it is
 * asked again until the person is done.
 * @param chosen the labels so far
 */
export function personQuestion(
  sessionId: string,
  call_id: string,
  asked: PersonQuestion,
  chosen: readonly string[],
): RequestPermissionRequest {
  const { question, options, multiple, free_text } = asked;
  const left = options.map(({ label }, n): PermissionOption => ({
    optionId: `${CHOICE}${n}`,
    name: exactLine(label),
    kind: "allow_once",
  })).filter((_, n) => !chosen.includes(options[n].label));
  const done: PermissionOption[] = multiple && chosen.length > 0
    ? [{
      optionId: DONE,
      name: `Done: ${chosen.map((it) => exactLine(it)).join(", ")}`,
      kind: "allow_once",
    }]
    : [];
  const words = free_text ? "\nTo answer in your own words, use svc chat or the web app." : "";
  return {
    sessionId,
    toolCall: {
      toolCallId: call_id,
      title: exactLine(question),
      status: "pending",
      content: [textContent(fenced(personQuestionText(asked) + words))],
    },
    options: [...left, ...done, SKIP],
  };
}

/** Returns the chosen label, or whether the person is done or skips. */
export function chosenOf(
  { outcome }: RequestPermissionResponse,
  { options }: PersonQuestion,
): { label: string } | "done" | "skip" {
  const id = outcome.outcome === "selected" ? outcome.optionId : SKIP.optionId;
  if (id === DONE) return "done";
  const label = id.startsWith(CHOICE) ? options[Number(id.slice(CHOICE.length))]?.label : undefined;
  return label === undefined ? "skip" : { label };
}

/** Converts a model's question to a form, for editors that support forms. */
export function personForm(
  sessionId: string,
  toolCallId: string,
  asked: PersonQuestion,
): CreateElicitationRequest {
  const { question, options, multiple, free_text } = asked;
  const choices = options.map(({ label, description }) => ({
    const: label,
    title: exactLine(description === undefined ? label : `${label} (${description})`),
  }));
  const properties: Record<string, ElicitationPropertySchema> = {};
  if (choices.length > 0) {
    properties.choice = multiple
      ? { type: "array", title: "Options", items: { anyOf: choices } }
      : { type: "string", title: "Options", oneOf: choices };
  }
  if (free_text) properties.text = { type: "string", title: "Your own words" };
  const required = free_text ? [] : ["choice"];
  const requestedSchema = { type: "object" as const, properties, required };
  return { mode: "form", sessionId, toolCallId, message: exact(question), requestedSchema };
}

/** Returns a form's answer; undefined if the question was skipped. */
export function formAnswer(
  response: CreateElicitationResponse,
): PersonAnswer | undefined {
  if (response.action !== "accept") return undefined;
  const { choice, text } = (response.content ?? {}) as { choice?: unknown; text?: unknown };
  const chosen = [choice ?? []].flat().map(String);
  const words = typeof text === "string" && text.trim() !== "" ? { text } : {};
  return chosen.length === 0 && !("text" in words) ? undefined : { chosen, ...words };
}

/** Undefined unless it is a small text file. */
function textOf(workdir: string, path: string): string | undefined {
  try {
    return readUntrusted(workdir, (files) => files.text(path, DIFF_MAX));
  } catch {
    return undefined;
  }
}
