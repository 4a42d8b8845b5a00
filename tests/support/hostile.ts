/** Text that would act if it were taken for HTML, and how a page is watched for that. */
import type { BrowserContext, Page } from "playwright-core";

/** Calls `pwned` where it becomes an element. */
export const IMAGE = "<img src=x onerror=pwned()>";

/** Counts what hostile text has run, on all pages that are opened from now on. */
export async function countRuns(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
    const page = globalThis as any;
    page.pwned = () => page.ran = (page.ran ?? 0) + 1;
  });
}

/** What of a page's text has become something that acts; see {@linkcode countRuns}. */
export async function acting(page: Page): Promise<unknown[]> {
  return await page.evaluate(() => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const { document, ran = 0 } = globalThis as any;
    const elements = "script,iframe,object,embed,link,meta,base,math,video,audio,img,style";
    const found = [...document.querySelectorAll(`main :is(${elements})`)].map((it) => it.outerHTML);
    const handlers = [...document.querySelectorAll("main *")]
      .filter((it) => it.getAttributeNames().some((name: string) => name.startsWith("on")))
      .map((it) => it.outerHTML);
    return [...(ran > 0 ? [`${ran} runs`] : []), ...found, ...handlers];
  });
}
