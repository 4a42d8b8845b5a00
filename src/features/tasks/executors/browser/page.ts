/** One page in Chromium: loads it, acts on it, reads it. */
import { deadline, delay } from "@std/async";
import type { Cdp, CdpEvent, CdpResult } from "./cdp.ts";
import type { BrowserAction } from "./request.ts";

export interface Link {
  text: string;
  href: string;
}

export interface PageView {
  url: string;
  title: string;
  text: string;
  links: Link[];
}

export interface Loaded {
  /** The HTTP status of the document; 0 if there was none. */
  status: number;
  /** Why there is no document, in Chromium's words. */
  error?: string;
  /** The last requested address, after redirects and scripts. */
  asked: string;
}

const LOAD_MS = 60_000;
/** For scripts that fill a page right after it has loaded. */
const SETTLE_MS = 300;
const SELECTOR_MS = 10_000;
const POLL_MS = 50;
const TEXT_MAX = 1_000_000;
const LINKS_MAX = 500;

export class Page {
  readonly #cdp: Cdp;
  readonly #session_id: string;
  readonly #target_id: string;
  #asked: Loaded = { status: 0, asked: "about:blank" };
  #at = this.#asked;
  #loaded = Promise.withResolvers<void>();

  private constructor(cdp: Cdp, session_id: string, target_id: string) {
    this.#cdp = cdp;
    this.#session_id = session_id;
    this.#target_id = target_id;
    cdp.watch((event) => event.session_id === session_id && this.#onEvent(event));
  }

  static async open(cdp: Cdp): Promise<Page> {
    const { targetId } = await cdp.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await cdp.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(cdp, sessionId, targetId);
    await page.#call("Page.enable");
    await page.#call("Network.enable");
    // Downloads are discarded, and dialogs are not answered.
    await cdp.call("Browser.setDownloadBehavior", { behavior: "deny" });
    return page;
  }

  get at(): Loaded {
    return this.#at;
  }

  #onEvent({ method, params }: CdpEvent): void {
    switch (method) {
      case "Page.javascriptDialogOpening":
        this.#call("Page.handleJavaScriptDialog", { accept: false }).catch(() => {});
        return;
      case "Page.loadEventFired":
        return this.#loaded.resolve();
      case "Page.frameNavigated":
        if (params.frame.id === this.#target_id) this.#at = this.#arrived(params.frame);
        return;
      case "Network.requestWillBeSent":
        if (this.#isDocument(params)) this.#asked = { status: 0, asked: params.request.url };
        return;
      case "Network.responseReceived":
        if (this.#isDocument(params)) this.#asked.status = params.response.status;
    }
  }

  /** Chromium shows a page of its own for an unreachable address. */
  #arrived({ unreachableUrl: asked }: { unreachableUrl?: string }): Loaded {
    if (!asked) return this.#asked;
    return { status: 0, asked, error: `the page led to ${asked}, which does not load` };
  }

  #isDocument({ type, frameId }: { type?: string; frameId?: string }): boolean {
    return type === "Document" && frameId === this.#target_id;
  }

  #call(method: string, params: Record<string, unknown> = {}): Promise<CdpResult> {
    return this.#cdp.call(method, params, this.#session_id);
  }

  async load(url: string, signal: AbortSignal): Promise<Loaded> {
    this.#asked = { status: 0, asked: url };
    this.#loaded = Promise.withResolvers();
    try {
      const { errorText } = await deadline(this.#call("Page.navigate", { url }), LOAD_MS, {
        signal,
      });
      if (errorText) return { ...this.#asked, error: errorText };
      await deadline(this.#loaded.promise, LOAD_MS, { signal });
      await delay(SETTLE_MS, { signal });
      return this.#at;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DOMException) {
        return { ...this.#asked, error: `not loaded within ${LOAD_MS / 1000} s` };
      }
      throw error;
    }
  }

  /** Runs an action. @throws {Error} when its element does not appear in time. */
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
    await this.#until(conditions.join(" && "), `${what} did not appear`, ms ?? SELECTOR_MS, signal);
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

  /** Clicks with the mouse, so that pages see the same events as from a person. */
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

  async view(): Promise<PageView> {
    return await this.#evaluate(`({
      url: location.href,
      title: document.title.slice(0, 1000),
      text: (document.body?.innerText ?? "").slice(0, ${TEXT_MAX}),
      links: [...document.querySelectorAll("a[href]")].slice(0, ${LINKS_MAX})
        .map((it) => ({ text: it.innerText.trim().slice(0, 200), href: it.href.slice(0, 2000) })),
    })`);
  }

  /** As PNG, the visible part. */
  async screenshot(): Promise<Uint8Array<ArrayBuffer>> {
    const { data } = await this.#call("Page.captureScreenshot", { format: "png" });
    return Uint8Array.fromBase64(data);
  }

  async pdf(): Promise<Uint8Array<ArrayBuffer>> {
    const { data } = await this.#call("Page.printToPDF", { printBackground: true });
    return Uint8Array.fromBase64(data);
  }

  /** In an isolated world, so functions that the page replaced have no effect. */
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
