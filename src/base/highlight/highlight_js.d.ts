/**
 * The part of highlight.js that is used here. The package's own types bring those of a browser into
 * whatever imports them.
 */

/** A grammar, for {@linkcode Parser.registerLanguage}. */
type Grammar = (parser: unknown) => unknown;

interface Parser {
  newInstance(): Parser;
  registerLanguage(name: string, grammar: Grammar): void;
  registerAliases(aliases: string[], options: { languageName: string }): void;
  configure(options: { __emitter: unknown }): void;
  /** Throws for an unknown language. */
  highlight(
    code: string,
    options: { language: string; ignoreIllegals: boolean },
  ): { _emitter: unknown; errorRaised?: Error };
}

export const core: Parser;

/** The grammars of the highlighted languages, by their names. */
export const GRAMMARS: Readonly<Record<string, Grammar>>;
