import { useEffect, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { pageHighlighter } from "./highlighter.ts";
import type { Token } from "../../../src/base/highlight/tokens.ts";

interface Found {
  code: string;
  language: string;
  tokens: readonly Token[];
}

/** The tokens of code, once they were found. @param language without one there are none. */
export function useTokens(
  code: string,
  language: string | undefined,
): readonly Token[] | undefined {
  const app = useApp();
  const highlighter = app.highlighter ??= pageHighlighter(app.client);
  const [found, setFound] = useState<Found>();
  const known = language === undefined ? undefined : highlighter.known(code, language);
  useEffect(() => {
    if (language === undefined || known !== undefined) return;
    return highlighter.want(code, language, (tokens) => setFound({ code, language, tokens }));
  }, [code, language]);
  return known ?? (found?.code === code && found.language === language ? found.tokens : undefined);
}

/** Code as text, which becomes coloured when there is time for it. */
export function Code({ code, language }: { code: string; language: string | undefined }) {
  const tokens = useTokens(code, language);
  return tokens === undefined ? <>{code}</> : <Coloured tokens={tokens} />;
}

/** Tokens in their colours. */
export function Coloured({ tokens }: { tokens: readonly Token[] }) {
  return (
    <>
      {tokens.map(({ text, tone }, n) =>
        tone === undefined ? text : <span key={n} class={`hl-${tone}`}>{text}</span>
      )}
    </>
  );
}
