/**
 * Finds the main text of a page, in a worker without permissions: a page may keep it busy forever.
 */
/// <reference lib="deno.worker" />
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";

self.onmessage = ({ data: html }: MessageEvent<string>) => {
  const { document } = parseHTML(html) as unknown as {
    document: ConstructorParameters<typeof Readability>[0];
  };
  const article = new Readability(document).parse();
  const text = article?.textContent ?? "";
  self.postMessage({ title: article?.title ?? "", text: tidy(text) });
};

/** Puts each paragraph on one line. */
function tidy(text: string): string {
  return text.split(/\n\s*\n|\n(?=\s{2,}\S)/).map((part) => part.replace(/\s+/g, " ").trim())
    .filter((part) => part !== "").join("\n\n");
}
