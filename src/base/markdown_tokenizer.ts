/** Where models' Markdown differs from GitHub's: what is meant there, in every face the same. */
import { Tokenizer } from "marked";

/** Writing without blanks between words, and its punctuation. */
const WITHOUT_BLANKS = /[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]/;
/** Bold text in one line, with code in it. */
const BOLD = /^\*\*(?!\s)((?:`[^`\n]*`|[^*\n`])+)(?<!\s)\*\*(?!\*)/;
/** What an address can be at most: the quotes and the punctuation of a sentence around it are not. */
const ADDRESS =
  /^[^\s<\u2018-\u201d\u2026\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]*/;

/** For `tokenizer` of the options of a lexer. */
export class MarkdownTokenizer extends Tokenizer {
  /** One tilde is "about" or a range (`~5`, `10~20`), not the mark of deleted text. */
  override del(...given: Parameters<Tokenizer["del"]>) {
    return given[0].startsWith("~~") ? super.del(...given) : undefined;
  }

  /**
   * CommonMark takes stars for marks by the blanks and the punctuation around them. Chinese, Japanese
   * and Korean have no blanks there: after a full stop the mark would stay in sight.
   */
  override emStrong(text: string, masked: string, before = "") {
    const [raw, bold] = BOLD.exec(text) ?? [];
    if (raw === undefined || !WITHOUT_BLANKS.test(before + bold + text.charAt(raw.length))) {
      return super.emStrong(text, masked, before);
    }
    return { type: "strong" as const, raw, text: bold, tokens: this.lexer.inlineTokens(bold) };
  }

  override url(text: string) {
    const found = super.url(text);
    if (found === undefined) return undefined;
    const [address] = ADDRESS.exec(found.raw)!;
    return address === found.raw ? found : super.url(address);
  }
}
