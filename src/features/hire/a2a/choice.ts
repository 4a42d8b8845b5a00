/**
 * Chooses a skill for a request in plain words, if it is clear: a wrong guess costs the operator
 * money, a question only one more message.
 */

/** A skill, and the options that the words contain. */
export interface Choice {
  task_type: string;
  extra: Record<string, unknown>;
}

/** Research reads at most this many pages. */
const URLS_MAX = 20;
/** Only addresses are searched beyond this many characters. */
const SEARCHED_MAX = 4_000;

/** Meaningless words before a request. */
const POLITENESS = new RegExp(
  "^(?:hi|hello|hey|please|kindly|now|then|ok(?:ay)?|(?:can|could|would|will) you|" +
    "i(?:'d| would) like you to|i (?:want|need) you to|let's)\\b[\\s,.!:]*",
  "i",
);
/** A skill that is named first: `use the browser skill to …`, `research: …`. */
const NAMED = /^(?:(?:use|run|start)\s+)?(?:the\s+|your\s+)?([a-z]+)\b/i;
const ONLY_NAMED = /^(?:(?:use|run|start)\s+)?(?:the\s+|your\s+)?([a-z]+)(?:\s+skill)?[\s.:!]*$/i;
const GREETING = /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you)[\s.,!]*$/i;

interface Rule {
  task_type: string;
  begins: RegExp;
  says?: RegExp;
  address?: boolean;
}

/** Small talk such as "What can you do?" is not research. */
const NOT_ABOUT_US = /^(?![^]*\b(?:you|your)\b)/i;

/** The first words of a request, by skill; `says` must match the request too. */
const RULES: Rule[] = [
  {
    task_type: "code",
    begins:
      /^(?:fix|implement|refactor|rename|add|remove|delete|change|update|upgrade|write|port|migrate|optimi[sz]e|debug|make)\b/i,
    says:
      /\b(?:bugs?|tests?|code|functions?|class(?:es)?|modules?|methods?|endpoints?|repo|repository|compil\w+|lint\w*|type error|readme|dependenc(?:y|ies)|commits?)\b|\/\/(?:github|gitlab|codeberg|bitbucket)\.|\.git\b/i,
  },
  {
    task_type: "browser",
    begins: /^(?:open|visit|browse|load|go to|navigate to|click|screenshot)\b/i,
    address: true,
  },
  {
    task_type: "browser",
    begins: /^(?:take|capture|make|get|save|print|give)\b/i,
    says: /\bscreen ?shots?\b|\bpdf\b/i,
  },
  {
    task_type: "browser",
    begins: /^(?:is|check|verify|test|see)\b/i,
    says: /\b(?:up|online|reachable|down|loads?|shows?|says?|displays?|contains?)\b/i,
    address: true,
  },
  { task_type: "deploy", begins: /^(?:re-?deploy|deploy|roll out)\b/i },
  {
    task_type: "research",
    begins:
      /^(?:what|who|whom|whose|when|where|which|why|how|find out|look up|summari[sz]e|compare|explain|investigate|tell me|report on|fact-?check)\b/i,
    says: NOT_ABOUT_US,
  },
];
/** Any other question, if nothing else is clear. */
const QUESTION: Rule = { task_type: "research", begins: /\?\s*$/, says: NOT_ABOUT_US };

/**
 * Chooses a skill for what a client has said, newest first.
 *
 * @param texts oldest first
 * @returns undefined if nothing is clear, or the skill is not offered
 */
export function chooseSkill(
  texts: readonly string[],
  offered: readonly string[],
): Choice | undefined {
  // An answer such as "Is it this page?" is not a new request.
  for (const rules of [RULES, [QUESTION]]) {
    for (const text of texts.toReversed()) {
      const task_type = skillFor(text, offered, rules);
      if (task_type !== undefined) return { task_type, extra: optionsFor(task_type, texts) };
    }
  }
  return undefined;
}

/** Returns the options of a skill that texts contain. */
export function optionsFor(task_type: string, texts: readonly string[]): Record<string, unknown> {
  const urls = [...new Set(texts.flatMap(addresses))];
  const [url] = urls;
  const said = texts.map((text) => text.slice(0, SEARCHED_MAX)).join("\n");
  switch (task_type) {
    case "research":
      return url === undefined ? {} : { urls: urls.slice(0, URLS_MAX) };
    case "browser":
      return {
        ...(url === undefined ? {} : { url }),
        ...(/\bscreen ?shots?\b/i.test(said) ? { screenshot: true } : {}),
        ...(/\bpdf\b/i.test(said) ? { pdf: true } : {}),
        ...expectedIn(said),
      };
    case "code":
      return url === undefined ? {} : { repo: url };
    case "deploy":
      return targetIn(texts);
    default:
      return {};
  }
}

/** Reports whether a text only greets, or only names a skill. */
export function saysNothingMore(text: string, offered: readonly string[]): boolean {
  const asked = text.trim();
  return GREETING.test(asked) || namedBy(ONLY_NAMED, asked, offered) !== undefined;
}

function skillFor(
  text: string,
  offered: readonly string[],
  rules: readonly Rule[],
): string | undefined {
  const asked = request(text);
  const named = namedBy(NAMED, asked, offered);
  if (named !== undefined) return named;
  const rule = rules.find(({ task_type, begins, says, address = false }) =>
    offered.includes(task_type) && begins.test(asked) && (says?.test(asked) ?? true) &&
    (!address || addresses(text).length > 0)
  );
  return rule?.task_type;
}

function namedBy(pattern: RegExp, asked: string, offered: readonly string[]): string | undefined {
  const name = pattern.exec(asked)?.[1].toLowerCase();
  return offered.find((it) => it === name);
}

/** Returns a request without the politeness before it. */
function request(text: string): string {
  let asked = text.slice(0, SEARCHED_MAX).trim();
  for (let before = ""; before !== asked;) {
    before = asked;
    asked = asked.replace(POLITENESS, "");
  }
  return asked;
}

/** Returns the addresses in a text, without trailing punctuation. */
function addresses(text: string): string[] {
  const found = text.match(/\bhttps?:\/\/[^\s<>"'`\\]+/gi) ?? [];
  return found.slice(0, URLS_MAX).map(withoutPunctuation).filter((it) => URL.canParse(it));
}

function withoutPunctuation(address: string): string {
  const bare = address.replace(/[.,;:!?*_]+$/, "");
  const closes = /[)\]}]$/.test(bare) && !/[([{]/.test(bare);
  return closes ? withoutPunctuation(bare.slice(0, -1)) : bare;
}

/** Returns the text that a page must have: quoted after a verb such as "shows". */
function expectedIn(said: string): { expected_text?: string } {
  const [, text] =
    /\b(?:shows?|says?|displays?|contains?)\b[^"“”\n]{0,40}["“]([^"“”\n]{1,200})["”]/i.exec(said) ??
      [];
  return text === undefined ? {} : { expected_text: text };
}

/** Returns the target that the newest text names, after the verb or alone. */
function targetIn(texts: readonly string[]): { target?: string; dry_run?: true } {
  const dry_run = texts.some((text) => /\bdry[- ]run\b/i.test(text.slice(0, SEARCHED_MAX)));
  const named =
    /^(?:(?:re-?deploy|deploy|roll out)(?:ment)?[:,]?\s+)?(?:to\s+)?(?:the\s+)?["'`]?([\w][\w.-]{0,99}?)["'`]?(?:\s+target)?(?:\s+(?:now|please|again)|,?\s+as a dry[- ]run|\s*\(dry[- ]run\))*[\s.!]*$/i;
  const targets = texts.map((text) => named.exec(request(text))?.[1])
    .filter((it) => it !== undefined && !/^(?:re-?deploy|deploy)$/i.test(it));
  const target = targets.at(-1);
  return { ...(target === undefined ? {} : { target }), ...(dry_run ? { dry_run } : {}) };
}
