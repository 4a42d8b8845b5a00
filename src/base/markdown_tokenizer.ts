/** Where models' Markdown differs from GitHub's: what is meant there, in every face the same. */
import { Tokenizer, type TokenizerObject } from "marked";

/** Writing without blanks between words, and its punctuation. */
const WITHOUT_BLANKS = /[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]/;
/** Bold text in one line, with code in it. */
const BOLD = /^\*\*(?!\s)((?:`[^`\n]*`|[^*\n`])+)(?<!\s)\*\*(?!\*)/;
/** What an address can be at most: the quotes and the punctuation of a sentence around it are not. */
const ADDRESS =
  /^[^\s<\u2018-\u201d\u2026\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]*/;

/** For `tokenizer` of marked's options. */
export const MARKDOWN_TOKENIZER: TokenizerObject = {
  /** One tilde is "about" or a range (`~5`, `10~20`), not the mark of deleted text. */
  del: (text) => text.startsWith("~~") ? false : undefined,
  /**
   * CommonMark takes stars for marks by the blanks and the punctuation around them. Chinese, Japanese
   * and Korean have no blanks there: after a full stop the mark would stay in sight.
   */
  emStrong(text, _masked, before = "") {
    const [raw, bold] = BOLD.exec(text) ?? [];
    if (raw === undefined || !WITHOUT_BLANKS.test(before + bold + text.charAt(raw.length))) {
      return false;
    }
    return { type: "strong", raw, text: bold, tokens: this.lexer.inlineTokens(bold) };
  },
  url(text) {
    return Tokenizer.prototype.url.call(this, ADDRESS.exec(text)![0]);
  },
};
