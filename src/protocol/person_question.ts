/**
 * Questions from the model, pending among the session's approvals. Must import only types:
 * the web app uses it.
 */
import type * as z from "zod";
import type { personQuestionSchema } from "./schemas/question.ts";

export const OPTIONS_MAX = 8;
export const QUESTION_MAX = 2_000;
export const LABEL_MAX = 100;
export const DESCRIPTION_MAX = 300;

/** The `kind` of an approval that is a question. */
const QUESTION = "question";

/** The question with all defaults. */
export type PersonQuestion = Required<z.output<ReturnType<typeof personQuestionSchema>>>;

/** At least one of both is set. */
export interface PersonAnswer {
  /** Labels of options. */
  chosen: string[];
  /** The person's own words. */
  text?: string;
}

/** The person declined, or nobody was there. */
export type Unanswered = "declined" | "nobody";

/** Returns the question, if an approval is one. */
export function askedOf(
  { kind, args }: { kind?: string; args: unknown },
): PersonQuestion | undefined {
  return kind === QUESTION ? args as PersonQuestion : undefined;
}

/** Returns why an answer does not fit; undefined when it does. */
export function answerProblem(
  { options, multiple, free_text }: PersonQuestion,
  { chosen, text }: PersonAnswer,
): string | undefined {
  const unknown = chosen.find((label) => options.every((it) => it.label !== label));
  if (unknown !== undefined) {
    return `${JSON.stringify(unknown)} is not one of the options: ` +
      options.map(({ label }) => JSON.stringify(label)).join(", ");
  }
  if (new Set(chosen).size < chosen.length) return "an option was chosen twice";
  if (!multiple && chosen.length > 1) return "only one option can be chosen";
  if (text !== undefined && !free_text) return "only one of the options can be the answer";
  if (chosen.length === 0 && (text ?? "").trim() === "") return "the answer is empty";
  return undefined;
}

/** Typed to skip a question. */
export const SKIP = "0";

/** Parses a typed answer: numbers of options, a label, or own words; undefined for a skip. */
export function typedAnswer(
  asked: PersonQuestion,
  line: string,
): { answer?: PersonAnswer; problem?: string } | undefined {
  const text = line.trim();
  const { options, multiple, free_text } = asked;
  if (text === SKIP) return undefined;
  const numbers = /^\d+(?:[\s,]+\d+)*$/.test(text) ? text.split(/[\s,]+/).map(Number) : [];
  const picked = numbers.map((number) => options[number - 1]?.label);
  const known = picked.every((it) => it !== undefined);
  if (numbers.length > 0 && known && (multiple || numbers.length === 1)) {
    return { answer: { chosen: [...new Set(picked)] } };
  }
  const label = options.find((it) => it.label.toLowerCase() === text.toLowerCase())?.label;
  if (label !== undefined) return { answer: { chosen: [label] } };
  if (free_text && text !== "") return { answer: { chosen: [], text } };
  return { problem: hintOf(asked) };
}

/** How to answer a question by typing. */
export function hintOf({ options, multiple, free_text }: PersonQuestion): string {
  const last = options.length;
  const numbers = last === 0
    ? ""
    : multiple
    ? `numbers from 1 to ${last}, such as 1,${Math.min(2, last)}`
    : last === 1
    ? "1"
    : `a number from 1 to ${last}`;
  const ways = [numbers, free_text ? "your own words" : "", `${SKIP} to skip`];
  return ways.filter((it) => it !== "").join(", or ");
}

/** The answer for the model. */
export function answerText(
  { chosen, text }: PersonAnswer,
  { multiple }: Pick<PersonQuestion, "multiple">,
): string {
  const labels = multiple ? chosen.map((label) => `- ${label}`).join("\n") : chosen.join("");
  const parts = [];
  if (chosen.length > 0) parts.push(`The person chose:${multiple ? "\n" : " "}${labels}`);
  if (text !== undefined) parts.push(`The person answered in their own words:\n${text}`);
  return parts.join("\n");
}

const UNANSWERED: Record<Unanswered, string> = {
  declined: "The person skipped the question. Decide it yourself and say what you assumed, or go " +
    "on without it.",
  nobody: "Nobody is there to answer. Decide it yourself and say what you assumed.",
};

/** The text for the model when there is no answer. */
export function unansweredText(why: Unanswered): string {
  return UNANSWERED[why];
}
