/** One page of a Chromium: loaded, acted on, read. */
import { deadline, delay } from "@std/async";
import type { Cdp, CdpEvent, CdpResult } from "./cdp.ts";
import type { BrowserAction } from "./request.ts";

/** A link of a page. */
export interface Link {
  text: string;
  href: string;
}

/** What a reader sees of a page. */
export interface PageView {
  url: string;
  title: string;
  text: string;
  links: Link[];
}

/** What came of loading a page. */
export interface Loaded {
  /** Of the document; 0 where there was none. */
  status: number;
  /** Why there is no document, in the words of what was to load it. */
  error?: string;
  /** The address that was asked for last: redirects lead elsewhere. */
  asked: string;
}

const LOAD_MS = 60_000;
/** After the page is there: scripts that fill it right away are waited for. */
const SETTLE_MS = 300;
const SELECTOR_MS = 10_000;
const POLL_MS = 50;
const TEXT_MAX = 1_000_000;
const LINKS_MAX = 500;

export class Page {
  readonly #cdp: Cdp;
  readonly #session_id: string;
  readonly #target_id: string;

  private constructor(cdp: Cdp, session_id: string, target_id: string) {
    this.#cdp = cdp;
    this.#session_id = session_id;
    this.#target_id = target_id;
  }

  /** Opens an empty page. */
  static async open(cdp: Cdp): Promise<Page> {
    const { targetId } = await cdp.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await cdp.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(cdp, sessionId, targetId);
    await page.#call("Page.enable");
    await page.#call("Network.enable");
    // Nothing that a page offers is kept, and nothing it asks is answered.
    await cdp.call("Browser.setDownloadBehavior", { behavior: "deny" });
    cdp.watch((event) => {
      if (event.session_id !== sessionId || event.method !== "Page.javascriptDialogOpening") return;
      page.#call("Page.handleJavaScriptDialog", { accept: false }).catch(() => {});
    });
    return page;
  }

  #call(method: string, params: Record<string, unknown> = {}): Promise<CdpResult> {
    return this.#cdp.call(method, params, this.#session_id);
  }

  /** Loads an address and waits until the page is there. */
  async load(url: string, signal: AbortSignal): Promise<Loaded> {
    let status = 0;
    let asked = url;
    const loaded = Promise.withResolvers<void>();
    const unwatch = this.#cdp.watch(({ method, params, session_id }: CdpEvent) => {
      if (session_id !== this.#session_id) return;
      if (method === "Page.loadEventFired") loaded.resolve();
      if (params.type !== "Document" || params.frameId !== this.#target_id) return;
      if (method === "Network.requestWillBeSent") asked = params.request.url;
      if (method === "Network.responseReceived") status = params.response.status;
    });
    try {
      const { errorText } = await deadline(this.#call("Page.navigate", { url }), LOAD_MS, {
        signal,
      });
      if (errorText) return { status, asked, error: errorText };
      await deadline(loaded.promise, LOAD_MS, { signal });
      await delay(SETTLE_MS, { signal });
      return { status, asked };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DOMException) {
        return { status, asked, error: `not loaded within ${LOAD_MS / 1000} s` };
      }
      throw error;
    } finally {
      unwatch();
    }
  }

  /** Carries out a step. @throws {Error} when what it names is not there in time. */
  async act(action: BrowserAction, signal: AbortSignal): Promise<void> {
    if (action.type === "wait") return await this.#wait(action, signal);
    await this.#until(
      `!!document.querySelector(${JSON.stringify(action.selector)})`,
      `nothing matches ${action.selector}`,
      SELECTOR_MS,
      signal,
    );
    if (action.type === "click") await this.#click(action.selector, signal);
    else await this.#fill(action.selector, action.value);
  }

  async #wait(
    { selector, text, ms }: Extract<BrowserAction, { type: "wait" }>,
    signal: AbortSignal,
  ): Promise<void> {
    if (selector === undefined && text === undefined) return await delay(ms ?? 0, { signal });
    const conditions = [
      ...(selector === undefined ? [] : [`!!document.querySelector(${JSON.stringify(selector)})`]),
      ...(text === undefined ? [] : [`document.body.innerText.includes(${JSON.stringify(text)})`]),
    ];
    const what = [selector, text && JSON.stringify(text)].filter(Boolean).join(" and ");
    await this.#until(conditions.join(" && "), `${what} did not come`, ms ?? SELECTOR_MS, signal);
  }

  async #until(
    condition: string,
    failure: string,
    timeout_ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    const until = performance.now() + timeout_ms;
    while (!(await this.#evaluate(condition).catch(() => false))) {
      if (performance.now() > until) throw new Error(`${failure} within ${timeout_ms / 1000} s`);
      await delay(POLL_MS, { signal });
    }
  }

  /** Clicks with the mouse, as a person would, so that pages see a real click. */
  async #click(selector: string, signal: AbortSignal): Promise<void> {
    const { x, y } = await this.#evaluate(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    })()`);
    const at = { x, y, button: "left", clickCount: 1 };
    await this.#call("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await this.#call("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
    await delay(SETTLE_MS, { signal });
    await this.#until(
      "document.readyState === 'complete'",
      "the page did not load",
      LOAD_MS,
      signal,
    );
  }

  async #fill(selector: string, value: string): Promise<void> {
    await this.#evaluate(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.focus();
      if (element.isContentEditable) element.textContent = "";
      else element.select ? element.select() : element.value = "";
    })()`);
    await this.#call("Input.insertText", { text: value });
  }

  /** What a reader sees. */
  async view(): Promise<PageView> {
    return await this.#evaluate(`({
      url: location.href,
      title: document.title.slice(0, 1000),
      text: (document.body?.innerText ?? "").slice(0, ${TEXT_MAX}),
      links: [...document.querySelectorAll("a[href]")].slice(0, ${LINKS_MAX})
        .map((it) => ({ text: it.innerText.trim().slice(0, 200), href: it.href.slice(0, 2000) })),
    })`);
  }

  /** A picture of what is to be seen, as PNG. */
  async screenshot(): Promise<Uint8Array<ArrayBuffer>> {
    const { data } = await this.#call("Page.captureScreenshot", { format: "png" });
    return Uint8Array.fromBase64(data);
  }

  /** The page as it would be printed. */
  async pdf(): Promise<Uint8Array<ArrayBuffer>> {
    const { data } = await this.#call("Page.printToPDF", { printBackground: true });
    return Uint8Array.fromBase64(data);
  }

  /** In a world of its own: what the page's scripts have replaced does not count. */
  async #evaluate(expression: string): Promise<CdpResult> {
    const { frameTree } = await this.#call("Page.getFrameTree");
    const { executionContextId } = await this.#call("Page.createIsolatedWorld", {
      frameId: frameTree.frame.id,
      worldName: "svc",
    });
    const { result, exceptionDetails } = await this.#call("Runtime.evaluate", {
      expression,
      contextId: executionContextId,
      returnByValue: true,
      timeout: SELECTOR_MS,
    });
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
}
