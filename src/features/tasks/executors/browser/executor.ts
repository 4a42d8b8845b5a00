/** Inspects a web page: with Chromium if it is installed, otherwise over plain HTTP. */
import { findBrowser } from "../../../../os/browsers.ts";
import { ownDirs } from "../../../../os/own_programs.ts";
import { type Egress, EgressRefused } from "../../../../net/egress.ts";
import { explainFetch } from "../../../../net/http_get.ts";
import type { Env } from "../../../../os/paths.ts";
import { Semaphore } from "../../../../base/semaphore.ts";
import type { Deliverable, Effort, Executor, TaskContext, Verification } from "../../task.ts";
import { textDeliverable } from "../deliverable.ts";
import { Chromium } from "./chromium.ts";
import { loadOverHttp } from "./http_page.ts";
import { type Loaded, Page, type PageView } from "./page.ts";
import { type BrowserRequest, readBrowserRequest } from "./request.ts";

interface BrowserParts {
  env: Env;
  /** Real paths of the directories that sessions can write. */
  writable(): readonly string[];
  /** For files that are removed with their task. */
  scratch(): string;
  egress(hired: boolean): Promise<Egress>;
}

/** Each Chromium takes about 300 MB. */
const AT_ONCE = 2;
const RELOADS: Record<Effort, number> = { minimal: 0, standard: 1, thorough: 2, critical: 3 };
const SUMMARY_TEXT_MAX = 4_000;

interface Seen extends Loaded {
  view?: PageView;
}

/** Creates the executor of `browser` tasks. */
export function browserExecutor(parts: BrowserParts): Executor {
  const slots = new Semaphore(AT_ONCE);
  return {
    task_type: "browser",
    check: (request) => void readBrowserRequest(request),
    async run(request, context) {
      const wanted = readBrowserRequest(request);
      const release = await slots.take(context.signal);
      try {
        await using egress = await parts.egress(context.hired);
        const reloads = RELOADS[request.effort ?? "standard"];
        return await visit(wanted, { ...parts, way: egress, reloads, context });
      } finally {
        release();
      }
    },
  };
}

interface Visit extends BrowserParts {
  way: Egress;
  reloads: number;
  context: TaskContext;
}

async function visit(wanted: BrowserRequest, visit: Visit): Promise<Deliverable> {
  const { env, context } = visit;
  const program = findBrowser(env, visit.writable());
  const seen = program === undefined
    ? await visitOverHttp(wanted, visit)
    : await visitWithChromium(wanted, program, visit);
  const verification = verify(wanted, seen);
  const { view } = seen;
  if (view !== undefined) {
    await context.keep({ name: "page.txt", media_type: "text/plain", content: view.text });
    const links = JSON.stringify(view.links, null, 1);
    if (view.links.length > 0) {
      await context.keep({ name: "links.json", media_type: "application/json", content: links });
    }
  }
  return textDeliverable(summaryOf(wanted, view), {
    verification,
    usage: { browser: program === undefined ? "http" : "chromium" },
    known_hosts: [wanted.url, view?.url ?? ""].map(hostOf).filter((host) => host !== ""),
  });
}

async function visitOverHttp(wanted: BrowserRequest, { way, context }: Visit): Promise<Seen> {
  if (wanted.actions.length > 0 || wanted.screenshot || wanted.pdf) {
    throw new Error("actions, screenshot and pdf need Chromium; install it on this machine");
  }
  try {
    return await loadOverHttp(wanted.url, way, context.signal);
  } catch (error) {
    context.signal.throwIfAborted();
    return { status: 0, asked: wanted.url, error: explainFetch(error) };
  }
}

async function visitWithChromium(
  wanted: BrowserRequest,
  program: string,
  { way, env, writable, scratch, reloads, context }: Visit,
): Promise<Seen> {
  const { signal } = context;
  await using chromium = await Chromium.start({
    program,
    path: ownDirs(env("PATH"), writable()).join(":"),
    proxy: way,
    env,
    dir: scratch(),
  });
  const onAbort = () => chromium.cdp.end(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const page = await Page.open(chromium.cdp);
    const loaded = await loadAgain(page, wanted.url, reloads, way, signal);
    if (loaded.error !== undefined) return loaded;
    for (const [n, action] of wanted.actions.entries()) {
      context.note(`action ${n + 1} of ${wanted.actions.length}: ${action.type}`);
      await page.act(action, signal);
    }
    const view = await page.view();
    const at = explained(page.at, way);
    if (at.error !== undefined) return at;
    if (wanted.screenshot) {
      const content = await page.screenshot();
      await context.keep({ name: "screenshot.png", media_type: "image/png", content });
    }
    if (wanted.pdf) {
      const content = await page.pdf();
      await context.keep({ name: "page.pdf", media_type: "application/pdf", content });
    }
    return { ...at, view };
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function loadAgain(
  page: Page,
  url: string,
  reloads: number,
  way: Egress,
  signal: AbortSignal,
): Promise<Loaded> {
  for (let again = reloads;; again--) {
    const loaded = await page.load(url, signal);
    if (loaded.error === undefined && loaded.status < 500) return loaded;
    if (again <= 0 || way.problem(hostOf(loaded.asked)) instanceof EgressRefused) {
      return explained(loaded, way);
    }
  }
}

/** Adds the egress's reason for an address that was not reached. */
function explained(loaded: Loaded, way: Egress): Loaded {
  const problem = loaded.status === 0 ? way.problem(hostOf(loaded.asked)) : undefined;
  return { ...loaded, error: problem?.message ?? loaded.error };
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? "";
}

function verify(wanted: BrowserRequest, { status, error, view }: Seen): Verification[] {
  const { url, expected_text, expected_regex, pattern } = wanted;
  const verification: Verification[] = [{
    criterion: `${url} loads`,
    passed: error === undefined && status < 400,
    evidence: error ?? `HTTP ${status}, ${view!.url}`,
  }];
  const text = view?.text ?? "";
  if (expected_text !== undefined) {
    const passed = squeezed(text).includes(squeezed(expected_text));
    verification.push({
      criterion: `the page has the text ${JSON.stringify(expected_text)}`,
      passed,
      evidence: passed ? "found" : `not in the ${text.length} characters of the page`,
    });
  }
  if (pattern !== undefined) {
    const matcher = pattern.matcher(text);
    const passed = matcher.find();
    verification.push({
      criterion: `the page matches ${expected_regex}`,
      passed,
      evidence: passed
        ? `found ${JSON.stringify(matcher.group()?.slice(0, 200))}`
        : `not in the ${text.length} characters of the page`,
    });
  }
  return verification;
}

/** Text, regardless of how its lines are broken. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function summaryOf({ url }: BrowserRequest, view: PageView | undefined): string {
  if (view === undefined) return `${url} was not loaded`;
  const text = view.text.length > SUMMARY_TEXT_MAX
    ? `${view.text.slice(0, SUMMARY_TEXT_MAX)}…`
    : view.text;
  return [view.title, view.url, "", text].join("\n").trim();
}
