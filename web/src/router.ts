/** Which view the address means, and how to go to another without a new page. */
import { type ReadonlySignal, signal } from "@preact/signals";

/** The element that views scroll in. */
export const SCROLLER = "main";
/** By which name an entry of the history keeps how far it was scrolled. */
const TOP = "top";

export type RouteParams = Record<string, string>;

/**
 * The parameters of a path that fits a pattern such as `/sessions/:id`.
 *
 * @returns undefined when it does not fit.
 */
export function matchPath(pattern: string, path: string): RouteParams | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const params: RouteParams = {};
  for (const [n, part] of wanted.entries()) {
    if (part.startsWith(":") && given[n] !== "") params[part.slice(1)] = decode(given[n]);
    else if (part !== given[n]) return undefined;
  }
  return params;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export class Router {
  readonly #path = signal(cleanPath());
  /** Whether a view was opened from another one: then the focus goes to it. */
  navigated = false;

  /** How far the view was scrolled when it was left; 0 for one that is opened anew. */
  top = 0;

  readonly #leaves: () => boolean;

  /** @param leaves whether another view takes a new page. */
  constructor(leaves: () => boolean) {
    this.#leaves = leaves;
    addEventListener("popstate", () => this.#show(this.kept<number>(TOP)));
    document.addEventListener("click", (event) => this.#onClick(event));
  }

  get path(): ReadonlySignal<string> {
    return this.#path;
  }

  /** @param kept what the new entry of the history keeps, by name. */
  go(path: string, kept: Record<string, string | number> = {}): void {
    if (path === this.#path.value) return;
    this.keep(TOP, document.getElementById(SCROLLER)?.scrollTop ?? 0);
    if (this.#leaves()) return location.assign(path);
    history.pushState(kept, "", path);
    this.#show();
  }

  /** What this entry of the history keeps by a name. */
  kept<T extends string | number>(name: string): T | undefined {
    return history.state?.[name];
  }

  /** Keeps something with this entry of the history. */
  keep(name: string, value: string | number): void {
    if (this.kept(name) === value) return;
    try {
      history.replaceState({ ...history.state, [name]: value }, "");
    } catch {
      // Browsers refuse when it is done too often: what was kept before is good enough.
    }
  }

  #show(top = 0): void {
    this.top = top;
    this.navigated = true;
    this.#path.value = cleanPath();
  }

  /** Plain clicks on our own links; what means another tab or window is left to the browser. */
  #onClick(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest("a[href]") as HTMLAnchorElement | null;
    if (link === null || link.target !== "" || link.origin !== location.origin) return;
    if (link.hash !== "" && link.pathname === location.pathname) return;
    event.preventDefault();
    this.go(link.pathname);
  }
}

function cleanPath(): string {
  const { pathname } = location;
  return pathname.length > 1 && pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
}
