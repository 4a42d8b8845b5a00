/** Claims: the statements of a report, each with its source and the quote that supports it. */
import * as z from "zod";
import type { Source } from "./source.ts";
import { squeezed } from "./source.ts";

/** A claim as a model writes it: the quote word for word, and the number of its source. */
export const claimSchema = () =>
  z.object({
    claim: z.string().min(1),
    quote: z.string().min(1),
    source: z.int(),
  });

export type Claim = Omit<z.output<ReturnType<typeof claimSchema>>, "source"> & { source: Source };

const SENTENCE_MIN = 25;
const SENTENCE_MAX = 400;
/** Per source. */
const SENTENCES_MAX = 5_000;
/** A blank line, the end of a heading, or the marker of a list, a heading, a quote or a table. */
const PARAGRAPH_END = /\n\s*\n|(?<=^#.*)\n|\n(?=\s*(?:[-*+#>|]|\d+[.)])\s)/m;
const ITEM_MARK = /^[-*+>] /;
/** Unlike sentences, headings, menus and table rows do not end with punctuation. */
const WHOLE = /^[^#|].*[.!?。！？…]["'”’»)\]]*$/;
/** Common words say nothing about a topic. */
const COMMON = new Set(
  ("a about after all also an and any are as at be been between but by can did do does for from had " +
    "has have he her his how i if in into is it its many me more most much my no not of on or our " +
    "she should so some such than that the their them then there these they this to up was we were " +
    "what when where which who why will with would you your").split(" "),
);

/** Returns up to `count` sentences that are most relevant to a question: an extractive summary. */
export function extractClaims(
  question: string,
  sources: readonly Source[],
  count: number,
): Claim[] {
  const wanted = new Set(wordsOf(question));
  const candidates = sources.flatMap((source, at) =>
    sentencesOf(source.text).map((quote, n) => ({ source, quote, n, at, words: wordsOf(quote) }))
  );
  const frequency = new Map<string, number>();
  for (const { words } of candidates) {
    for (const word of new Set(words)) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  // Rare words are more significant (tf-idf).
  const weight = (word: string) => Math.log(1 + candidates.length / (frequency.get(word) ?? 1));
  const scored = candidates.map((candidate) => {
    const hits = [...new Set(candidate.words)].filter((word) => wanted.has(word));
    const score = hits.reduce((sum, word) => sum + weight(word), 0);
    return { ...candidate, score };
  }).sort((a, b) => b.score - a.score || a.at - b.at || a.n - b.n);
  // If no sentence is about the question, use the beginnings of the texts.
  const about = scored.filter(({ score }) => score > 0);
  const picked: typeof scored = [];
  for (const candidate of about.length > 0 ? about : scored) {
    if (picked.length >= count) break;
    if (!picked.some((other) => isAlike(other.words, candidate.words))) picked.push(candidate);
  }
  // In the order of the sources, for a continuous text.
  picked.sort((a, b) => a.at - b.at || a.n - b.n);
  return picked.map(({ quote, source }) => ({ claim: quote, quote, source }));
}

/** Returns the sentences of a text that can stand alone. */
export function sentencesOf(text: string): string[] {
  const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
  const sentences: string[] = [];
  for (const paragraph of text.split(PARAGRAPH_END)) {
    for (const { segment } of segmenter.segment(squeezed(paragraph))) {
      const sentence = segment.trim().replace(ITEM_MARK, "");
      if (sentence.length < SENTENCE_MIN || sentence.length > SENTENCE_MAX) continue;
      if (!WHOLE.test(sentence)) continue;
      if (sentences.push(sentence) >= SENTENCES_MAX) return sentences;
    }
  }
  return sentences;
}

/** Returns the significant words of a text, without their endings. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
    .filter((word) => word.length > 1 && !COMMON.has(word))
    .map((word) => word.length > 3 ? word.replace(/(?:ies|es|s|ing|ed|ly)$/, "") : word);
}

function isAlike(a: readonly string[], b: readonly string[]): boolean {
  const words = new Set(a);
  const common = new Set(b.filter((word) => words.has(word))).size;
  return common > 0.7 * Math.min(words.size, new Set(b).size);
}
