/** What the web app is put under, and what it is watched by: for its tests and for the bench. */
import type { Page } from "playwright-core";

/** Runs before the page's own script: notes when content is first there. */
export function watchContent(selector: string) {
  // deno-lint-ignore no-explicit-any -- the page's globals, of which Deno has no types
  const page = globalThis as any;
  page.content_ms = new Promise((resolve) =>
    new page.MutationObserver((_: unknown, observer: { disconnect(): void }) => {
      if (page.document.querySelector(selector) === null) return;
      observer.disconnect();
      // What is there now is painted with the next frame.
      page.requestAnimationFrame(() => resolve(performance.now()));
    }).observe(page.document, { childList: true, subtree: true })
  );
}

/** Milliseconds from the navigation to the first content; see {@linkcode watchContent}. */
export async function contentMs(page: Page): Promise<number> {
  return await page.evaluate("globalThis.content_ms");
}

/** Scrolls a box from its end to its beginning. @returns the longest frame in milliseconds. */
export async function longestScrollFrame(page: Page, selector: string): Promise<number> {
  return await page.evaluate(async (selector) => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const { document, requestAnimationFrame } = globalThis as any;
    const box = document.querySelector(selector);
    const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
    let longest = 0;
    let before = await frame();
    for (let top = box.scrollHeight; top > 0; top -= 900) {
      box.scrollTop = top;
      const now = await frame();
      longest = Math.max(longest, now - before);
      before = now;
    }
    return longest;
  }, selector);
}

/** The texts of all rows of a virtual list: it is scrolled from its beginning to its end. */
export async function rowTexts(page: Page, selector: string): Promise<string[]> {
  return await page.evaluate(async (selector) => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const { document, requestAnimationFrame } = globalThis as any;
    const box = document.querySelector(selector);
    const texts: string[] = [];
    for (let top = 0; top < box.scrollHeight; top += box.clientHeight / 2) {
      box.scrollTop = top;
      // A row is drawn after the scroll, and its neighbours when it was measured.
      for (let n = 0; n < 3; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
      for (const row of box.querySelectorAll("[data-index]")) {
        texts[Number(row.dataset.index)] = row.textContent;
      }
    }
    return texts;
  }, selector);
}

/** Counts the frames in which a box is drawn anew, and in what time. */
export async function watchRepaints(page: Page, selector: string): Promise<void> {
  await page.evaluate((selector) => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const all = globalThis as any;
    const began = performance.now();
    let frame = 0;
    let drawn = -1;
    all.repaints = 0;
    // A message that is sent in a frame comes after it was painted.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      frame++;
      all.requestAnimationFrame(() => port2.postMessage(0));
    };
    port2.postMessage(0);
    new all.MutationObserver(() => {
      if (drawn === frame) return;
      drawn = frame;
      all.repaints++;
      all.repaint_ms = performance.now() - began;
    }).observe(all.document.querySelector(selector), {
      childList: true,
      characterData: true,
      subtree: true,
    });
  }, selector);
}

/** The repaints so far, and the milliseconds from the watch's beginning to the last of them. */
export async function repaints(page: Page): Promise<{ count: number; ms: number }> {
  return await page.evaluate(() => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const { repaints, repaint_ms } = globalThis as any;
    return { count: repaints, ms: repaint_ms ?? 0 };
  });
}

/** Shorter delays are not told by Event Timing, in milliseconds. */
const TOLD_MS = 16;

/** Notes how long each key takes until its effect is painted, by the Event Timing API. */
export async function watchInput(page: Page): Promise<void> {
  await page.evaluate((durationThreshold) => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const all = globalThis as any;
    all.delays = [];
    new all.PerformanceObserver((list: { getEntries(): { name: string; duration: number }[] }) => {
      for (const { name, duration } of list.getEntries()) {
        if (name === "keydown") all.delays.push(duration);
      }
    }).observe({ type: "event", durationThreshold });
  }, TOLD_MS);
}

/** The delays of so many keys since {@linkcode watchInput}, in milliseconds; 16 is 16 or less. */
export async function inputDelays(page: Page, keys: number): Promise<number[]> {
  const told: number[] = await page.evaluate("globalThis.delays");
  return [...told, ...Array.from({ length: Math.max(0, keys - told.length) }, () => TOLD_MS)];
}

/** Notes the tasks that take 50 ms or more. */
export async function watchLongTasks(page: Page): Promise<void> {
  await page.evaluate(() => {
    // deno-lint-ignore no-explicit-any -- the page's globals
    const all = globalThis as any;
    all.longest_task = 0;
    new all.PerformanceObserver((list: { getEntries(): { duration: number }[] }) => {
      for (const { duration } of list.getEntries()) {
        all.longest_task = Math.max(all.longest_task, duration);
      }
    }).observe({ type: "longtask" });
  });
}

/** The longest task since {@linkcode watchLongTasks}, in milliseconds; 0 is less than 50. */
export async function longestTask(page: Page): Promise<number> {
  return await page.evaluate("globalThis.longest_task");
}

/** Milliseconds from the navigation until the browser has painted something. */
export async function paintMs(page: Page): Promise<number> {
  for (;;) {
    const ms: number | undefined = await page.evaluate(
      `performance.getEntriesByName("first-contentful-paint")[0]?.startTime`,
    );
    if (ms !== undefined) return ms;
    await page.waitForTimeout(10);
  }
}

/** What the page holds: nodes, also those that are not in a document, and listeners. */
export interface Held {
  nodes: number;
  listeners: number;
}

/** What the page holds after a collection. */
export async function held(page: Page): Promise<Held> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send("HeapProfiler.collectGarbage");
    const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
    return { nodes, listeners: jsEventListeners };
  } finally {
    await session.detach();
  }
}

/** Bytes of the page's heap that are in use, after a collection. */
export async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize;
  } finally {
    await session.detach();
  }
}
