/** A pending question on a terminal that only scrolls, and what a person types to answer it. */
import { exactLine } from "../base/visible.ts";
import { askedOf, hintOf, typedAnswer } from "../protocol/person_question.ts";
import {
  alwaysText,
  choiceText,
  personQuestionText,
  type Question,
  RULE_SCOPES,
  saidWithNo,
} from "../session/question.ts";
import { questionLines, type QuestionTone } from "../session/question_lines.ts";
import { diffPainted, type Paint } from "./chat_render.ts";

/** A question about a call, or one of the model to the person. */
export type PrintedQuestion = Question & { kind?: string };

/** Returns the question in full with its answers, a line each; the first says who asks. */
export function questionPrinted(
  question: PrintedQuestion,
  workdir: string,
  paint: Paint,
): string[] {
  const asked = askedOf(question);
  if (asked !== undefined) return personQuestionText(asked).split("\n");
  const paints: Record<QuestionTone, (text: string) => string> = {
    plain: (text) => text,
    dim: paint.dim,
    head: paint.bold,
    added: paint.added,
    removed: paint.removed,
    warning: paint.warning,
  };
  return [
    `allow ${exactLine(question.tool)}?`,
    ...questionLines(question, workdir).map(({ tone, text, diff }) =>
      diff === undefined ? paints[tone](text) : diffPainted(diff, paint)
    ),
    ...answers(question).map(paint.dim),
  ];
}

function answers(question: Question): string[] {
  const { choices = [] } = question;
  const where = RULE_SCOPES.map(({ key, words }) => `1${key} ${words}`).join(", ");
  return [
    "1 y  allow",
    `2 a  always allow ${alwaysText(question)}`,
    ...choices.length === 0 ? [] : [`     or one of these rules, such as ${where}:`],
    ...choices.map((choice, n) => `     ${n + 1}: always ${choiceText(question, choice)}`),
    "3 n  deny; n, TEXT says what to do instead",
  ];
}

/** Asks for the answer. */
export function questionPrompt(question: PrintedQuestion): string {
  const asked = askedOf(question);
  return asked === undefined
    ? "allow? 1 yes, 2 always, 3 no, or n, TEXT:"
    : `answer (${hintOf(asked)}):`;
}

const ANSWERS: Record<string, "allow" | "allow_always" | "deny"> = {
  "1": "allow",
  y: "allow",
  yes: "allow",
  "2": "allow_always",
  a: "allow_always",
  always: "allow_always",
  "3": "deny",
  n: "deny",
  no: "deny",
};

/** Returns the verb that answers with this line, and its own parameters; undefined for others. */
export function typedDecision(
  question: PrintedQuestion,
  line: string,
): { verb: string; params: Record<string, unknown> } | undefined {
  const asked = askedOf(question);
  if (asked === undefined) {
    const message = saidWithNo(line);
    if (message !== undefined) {
      return { verb: "session.approve", params: { decision: "deny", message } };
    }
    const always = ruleChosen(question, line.toLowerCase());
    const decision = always === undefined ? ANSWERS[line.toLowerCase()] : "allow_always";
    return decision && { verb: "session.approve", params: { decision, always } };
  }
  const typed = typedAnswer(asked, line);
  if (typed === undefined) return { verb: "session.answer", params: { unanswered: "declined" } };
  return typed.answer && { verb: "session.answer", params: { ...typed.answer } };
}

/** Returns the rule that an answer such as `2d` chooses. */
function ruleChosen({ choices }: Question, answer: string) {
  const [, number, letter] = /^([1-9]) ?([sde])$/.exec(answer) ?? [];
  const rule = choices?.[Number(number) - 1];
  const scope = RULE_SCOPES.find(({ key }) => key === letter)?.scope;
  return rule === undefined || scope === undefined ? undefined : { rule, scope };
}
