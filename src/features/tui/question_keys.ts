/** Keys for a pending question: they answer it, choose, and scroll its text. */
import type { Decision } from "../../protocol/events.ts";
import { exactLine } from "../../base/visible.ts";
import { type PersonAnswer, SKIP } from "../../protocol/person_question.ts";
import { choiceText, RULE_SCOPES, saidWithNo } from "../../session/question.ts";
import { clear, insert, insertKey } from "./input.ts";
import type { Key } from "./keys.ts";
import type { ApprovalView, Model } from "./model.ts";
import type { Effect } from "./effect.ts";

const ANSWERS: Record<string, Decision> = {
  "1": "allow",
  y: "allow",
  "2": "allow_always",
  a: "allow_always",
  "3": "deny",
  n: "deny",
};

/** The answers in their order for Up and Down. */
const ANSWER_KEYS = ["1", "2", "3"];

/** Handles a key while a question has the focus. @returns undefined for a key of the message */
export function inQuestion(model: Model, key: Key): Effect[] | undefined {
  const [approval] = model.approvals;
  if (approval === undefined) return undefined;
  if (key.type !== "named") {
    const { typed, picked } = approval;
    const effects = beginDenial(model, approval, key) ??
      (key.type !== "character"
        ? undefined
        : picked === undefined
        ? pick(model, approval, key.text)
        : goOn(model, approval, key.text));
    // A message that begins like an answer keeps its first letters.
    if (effects === undefined && takeBack(approval)) {
      model.input_answers = answeredBy(model);
      insert(model.input, typed);
    }
    return effects;
  }
  switch (key.name) {
    case "enter":
      if (approval.picked !== undefined) return confirm(approval);
      if (approval.asked !== undefined || model.input.text !== "") return answerChosen(model);
      model.notice = "1, 2 or 3 picks an answer, or Up and Down; Enter confirms it";
      return [];
    case "backspace":
      return takeBack(approval) ? [] : undefined;
    case "up":
    case "down":
      return step(model, approval, key.name === "up" ? -1 : 1);
  }
}

/** Picks an answer by a click; another one takes the place of the first. */
export function clickAnswer(model: Model, char: string): Effect[] {
  const [approval] = model.approvals;
  if (approval === undefined) return [];
  const effects = approval.picked === undefined
    ? pick(model, approval, char)
    : goOn(model, approval, char);
  if (effects !== undefined || !takeBack(approval)) return effects ?? [];
  return pick(model, approval, char) ?? [];
}

/** Clears what was picked or chosen. @returns whether there was anything */
export function takeBack(approval: ApprovalView | undefined): boolean {
  if (approval === undefined) return false;
  const { picked, rule_chosen } = approval;
  approval.picked = approval.rule_chosen = undefined;
  approval.typed = "";
  return picked !== undefined || rule_chosen !== undefined;
}

/** Goes to the next answer, cyclically. @returns undefined while a message is being typed */
function step(model: Model, approval: ApprovalView, by: 1 | -1): Effect[] | undefined {
  if (model.input.text !== "" || !approval.armed) return undefined;
  const { asked, picked, typed } = approval;
  if (asked?.multiple) return undefined;
  const keys = asked === undefined ? ANSWER_KEYS : asked.options.map((_, n) => `${n + 1}`);
  const at = asked === undefined
    ? keys.findIndex((key) => ANSWERS[key] === picked?.decision)
    : keys.indexOf(typed);
  const from = at < 0 && by < 0 ? 0 : at;
  takeBack(approval);
  return pick(model, approval, keys[(from + by + keys.length) % keys.length]);
}

/** Gives the picked answer. */
function confirm(approval: ApprovalView): Effect[] {
  const { approval_id, question, picked, asked, answered } = approval;
  if (answered) return [];
  approval.answered = true;
  takeBack(approval);
  const { decision, always, answer } = picked!;
  if (asked !== undefined) return [{ type: "answer", approval_id, answer, question }];
  return [{ type: "approve", approval_id, decision: decision!, question, ...always && { always } }];
}

/** Picks an answer by its key. @returns undefined for other keys */
function pick(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  if (approval.asked !== undefined) return choose(model, approval, char);
  if (char === "v") return showAll(model, approval);
  // A key from before the question does not answer it.
  if (!approval.armed) return undefined;
  if (approval.rule_chosen !== undefined) return chooseRule(model, approval, char);
  const decision = ANSWERS[char.toLowerCase()];
  if (decision === undefined) return chooseRule(model, approval, char);
  if (approval.answered) return [];
  if (decision !== "deny" && !mayAllow(model, approval)) return [];
  const words = {
    allow: "allow",
    deny: "deny",
    allow_always: `always allow ${approval.always}`,
  };
  approval.typed = char;
  approval.picked = { words: words[decision], decision };
  return [];
}

/** Begins what to do instead, with a letter or pasted text after `3`. @returns undefined otherwise */
function beginDenial(
  model: Model,
  approval: ApprovalView,
  key: Exclude<Key, { type: "named" }>,
): Effect[] | undefined {
  const { typed, picked, approval_id } = approval;
  const begins = key.type === "paste" || /^\p{L}$/u.test(key.text);
  if (typed !== "3" || picked?.decision !== "deny" || !begins) return undefined;
  takeBack(approval);
  model.input_answers = approval_id;
  model.input_denies = true;
  model.focus = "input";
  insertKey(model.input, key);
  return [];
}

/** Handles a key after one that has picked an answer. @returns undefined for other keys */
function goOn(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  const { picked, typed, question, asked } = approval;
  if (asked !== undefined || picked!.always !== undefined || picked!.decision === "deny") {
    return undefined;
  }
  const is_always = picked!.decision === "allow_always";
  if (is_always && ruleAt(question, char) !== undefined) return chooseRule(model, approval, char);
  const first = ruleAt(question, typed);
  if (first === undefined || scopeAt(char) === undefined) return undefined;
  approval.picked = undefined;
  approval.rule_chosen = first;
  return chooseRule(model, approval, char);
}

function ruleAt({ choices }: ApprovalView["question"], char: string): string | undefined {
  return /^[1-9]$/.test(char) ? choices?.[Number(char) - 1] : undefined;
}

function scopeAt(char: string) {
  return RULE_SCOPES.find(({ key }) => key === char.toLowerCase());
}

/** A number chooses a rule, then a letter its scope. @returns undefined for other keys */
function chooseRule(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  const { question, rule_chosen, answered } = approval;
  const choice = ruleAt(question, char);
  const found = scopeAt(char);
  if (choice === undefined && (rule_chosen === undefined || found === undefined)) return undefined;
  if (answered || !mayAllow(model, approval)) return [];
  approval.typed += char;
  if (choice !== undefined) {
    approval.picked = undefined;
    approval.rule_chosen = choice;
    return [];
  }
  const { scope, words } = found!;
  approval.picked = {
    words: `always allow ${choiceText(question, rule_chosen!)}, ${words}`,
    decision: "allow_always",
    always: { rule: rule_chosen!, scope },
  };
  return [];
}

function showAll(model: Model, { about }: ApprovalView): Effect[] {
  model.approval_shown = !model.approval_shown;
  model.scroll = model.approval_shown ? { entry: about.id, row: 0 } : undefined;
  return [];
}

/** Handles a key for a question to the person, like {@linkcode pick}. */
function choose(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  const { options, multiple } = approval.asked!;
  // If the whole question is visible, the letter belongs to the answer.
  if (char === "v" && (!approval.read || model.approval_shown) && model.input.text === "") {
    return showAll(model, approval);
  }
  if (!/^[0-8]$/.test(char) || Number(char) > options.length) return undefined;
  // A key from before the question does not answer it.
  if (!approval.armed) return undefined;
  if (approval.answered) return [];
  if (model.input.text !== "") return undefined;
  if (char === SKIP) {
    approval.typed = char;
    approval.picked = { words: "skip the question" };
    return [];
  }
  if (!mayAllow(model, approval)) return [];
  const at = Number(char) - 1;
  if (!multiple) {
    const { label } = options[at];
    approval.typed = char;
    approval.picked = { words: exactLine(label), answer: { chosen: [label] } };
    return [];
  }
  approval.chosen = approval.chosen.includes(at)
    ? approval.chosen.filter((it) => it !== at)
    : [...approval.chosen, at].sort();
  return [];
}

/** Enter on a question for which options were chosen. */
function answerChosen(model: Model): Effect[] | undefined {
  const [approval] = model.approvals;
  if (!approval?.asked || approval.chosen.length === 0 || model.input.text !== "") return undefined;
  if (approval.answered) return [];
  const { options } = approval.asked;
  return answerWith(model, approval, { chosen: approval.chosen.map((at) => options[at].label) });
}

function answerWith(
  model: Model,
  approval: ApprovalView,
  answer: PersonAnswer | undefined,
): Effect[] {
  approval.answered = true;
  model.input_answers = undefined;
  const { approval_id, question } = approval;
  return [{ type: "answer", approval_id, answer, question }];
}

/** The question that a message begun now answers. */
export function answeredBy({ focus, approvals: [approval] }: Model): string | undefined {
  const takes = focus === "approval" && approval?.armed && !approval.answered &&
    approval.asked?.free_text !== false;
  return takes ? approval.approval_id : undefined;
}

/** Answers the question for which a message was typed. @returns undefined for another message */
export function answerTyped(model: Model, text: string): Effect[] | undefined {
  const { input_answers } = model;
  if (input_answers === undefined) return undefined;
  const [approval] = model.approvals;
  if (approval?.approval_id === input_answers && approval.asked === undefined) {
    return answerWord(model, approval, text);
  }
  if (approval?.approval_id !== input_answers || approval.answered) {
    model.input_answers = undefined;
    model.input_denies = false;
    model.notice = "the question is gone; Enter sends this as a message";
    return [];
  }
  if (!mayAllow(model, approval)) return [];
  const { options } = approval.asked!;
  clear(model.input);
  const chosen = approval.chosen.map((at) => options[at].label);
  return answerWith(model, approval, { chosen, text });
}

/** Goes back from a message that says what to do instead. @returns whether it was one */
export function takeBackDenial(model: Model): boolean {
  if (!model.input_denies) return false;
  model.input_denies = false;
  model.input_answers = undefined;
  clear(model.input);
  model.focus = "approval";
  return true;
}

/** The words that answer as their first letters do. */
const WORDS: Record<string, string> = { yes: "y", no: "n", always: "a" };

/** Answers by a whole typed word. @returns undefined for a message */
function answerWord(model: Model, approval: ApprovalView, text: string): Effect[] | undefined {
  model.input_answers = undefined;
  const message = model.input_denies ? text : saidWithNo(text);
  model.input_denies = false;
  if (message !== undefined && !approval.answered) {
    clear(model.input);
    approval.answered = true;
    const { approval_id, question } = approval;
    return [{ type: "approve", approval_id, decision: "deny", question, message }];
  }
  const char = WORDS[text.toLowerCase()];
  if (char === undefined || approval.answered) return undefined;
  clear(model.input);
  model.focus = "approval";
  takeBack(approval);
  pick(model, approval, char);
  return approval.picked === undefined ? [] : confirm(approval);
}

/** Opens a question that was not shown completely, instead of allowing it. */
function mayAllow(model: Model, { about, left_out, read, asked }: ApprovalView): boolean {
  if (left_out > 0) {
    model.notice = "too long to show here: decide in the web app, or deny it";
    return false;
  }
  if (read) return true;
  if (!model.approval_shown) {
    model.approval_shown = true;
    model.scroll = { entry: about.id, row: 0 };
  }
  model.notice = `scroll to the end before you ${asked === undefined ? "allow it" : "answer"}`;
  return false;
}
