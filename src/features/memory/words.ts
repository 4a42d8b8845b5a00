/** Turns text into terms for the full-text index. */

const STOPWORDS = new Set(
  ("a about after all also am an and any are as at be been before but by can could did do does " +
    "doing done for from get give had has have he her here him his how i if in into is it its " +
    "just let like me more my need no not now of off on or our out over please shall she " +
    "should so some such tell than that the their them then there these they this those through " +
    "to too up us use want was way we were what when where which while who whom why will with " +
    "would you your").split(" "),
);

/** In characters and in words: people paste files. */
const TEXT_MAX = 8_000;
const WORDS_MAX = 32;
/** Shorter words have no prefix term. */
const PREFIX_FROM = 6;
const PREFIX_MIN = 5;
/** The length of endings that related words differ in: deployment, deploys. */
const ENDING = 4;

/**
 * Returns the words of a text in lower case. Scripts without spaces are split by dictionary, which
 * the index's own tokenizer does not do.
 */
export function wordsOf(text: string): string[] {
  const segmenter = new Intl.Segmenter("en", { granularity: "word" });
  return [...segmenter.segment(text.normalize("NFKC").toLowerCase())]
    .filter(({ isWordLike }) => isWordLike)
    .flatMap(({ segment }) => segment.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []);
}

/**
 * Returns FTS5 terms for a text: its words, and prefixes of the long ones for their other forms.
 * Every word is quoted, so no text is an error.
 */
export function searchTerms(text: string): string[] {
  const asked = new Set(wordsOf(text.slice(0, TEXT_MAX)));
  const words = [...asked].filter((word) => !STOPWORDS.has(word));
  const terms = words.slice(0, WORDS_MAX).flatMap((word) => {
    const beginning = word.slice(0, Math.max(PREFIX_MIN, word.length - ENDING));
    return word.length < PREFIX_FROM ? [`"${word}"`] : [`"${word}"`, `"${beginning}"*`];
  });
  return [...new Set(terms)];
}
