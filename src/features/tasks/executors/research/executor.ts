/** Answers a question from sources, and verifies each claim by reading its source again. */
import type * as z from "zod";
import type { Model, Usage } from "../../../../models/model.ts";
import type { Egress } from "../../../../net/egress.ts";
import { SvcError } from "../../../../protocol/errors.ts";
import { parseAddress, Refusal } from "../../../../net/http_get.ts";
import { Semaphore } from "../../../../base/semaphore.ts";
import type {
  Deliverable,
  Effort,
  Executor,
  TaskContext,
  TaskRequest,
  Verification,
} from "../../task.ts";
import { textDeliverable } from "../deliverable.ts";
import { type Claim, extractClaims } from "./claims.ts";
import { Extractor } from "./extract.ts";
import { writeReport, type Written } from "./report_model.ts";
import { ResearchExtra } from "./request.ts";
import {
  addressOf,
  isRead,
  quoteFinder,
  type Source,
  SourceReader,
  type SourceRef,
  type Unread,
} from "./source.ts";

export interface ResearchParts {
  egress(hired: boolean): Promise<Egress>;
  /** Undefined without a configured provider. */
  search(): ((query: string, count: number, signal: AbortSignal) => Promise<string[]>) | undefined;
  /** Undefined without a model: the summary is then extractive. @throws {SvcError} */
  model(id: string | undefined): Promise<Model | undefined>;
  /** @throws {SvcError} validation when no such model can write reports */
  checkModel(id: string): void;
  /** In USD. */
  cost(model_id: string, usage: Usage): number;
  /** For one task. */
  budget_usd(): number;
  /** @returns the real path. @throws {SvcError} when a task may not read it. */
  workdir(path: string, hired: boolean): Promise<string>;
  /** Returns the paths that tools in a directory must not see. */
  hidden(workdir: string): readonly string[];
}

type Extra = z.output<typeof ResearchExtra>;

const EFFORT: Record<Effort, { sources: number; claims: number; repairs: number }> = {
  minimal: { sources: 3, claims: 3, repairs: 0 },
  standard: { sources: 6, claims: 6, repairs: 1 },
  thorough: { sources: 12, claims: 10, repairs: 2 },
  critical: { sources: 20, claims: 15, repairs: 3 },
};
const TASKS_AT_ONCE = 16;
/** Sources of one task. */
const AT_ONCE = 4;

export function researchExecutor(parts: ResearchParts): Executor {
  const slots = new Semaphore(TASKS_AT_ONCE);
  const extractor = new Extractor();
  return {
    task_type: "research",
    async check(request, hired) {
      const { urls, files, workdir, model } = readExtra(request);
      if (urls.length === 0 && files.length === 0 && parts.search() === undefined) {
        throw new SvcError(
          "validation",
          "a research task needs sources: set extra.urls or extra.files",
          {
            hint: "or configure a search provider under [search] in daemon.toml",
          },
        );
      }
      if (files.length > 0 && workdir === undefined) {
        throw new SvcError(
          "validation",
          "extra.files needs extra.workdir, the directory of the files",
        );
      }
      if (workdir !== undefined) await parts.workdir(workdir, hired);
      if (model !== undefined) parts.checkModel(model);
    },
    async run(request, context) {
      const release = await slots.take(context.signal);
      try {
        using _workers = extractor.begin();
        await using egress = await parts.egress(context.hired);
        const reader = new SourceReader(egress, extractor, context.signal);
        return await research(request, parts, reader, context);
      } finally {
        release();
      }
    },
  };
}

/** @throws {SvcError} validation. */
function readExtra({ extra = {} }: TaskRequest): Extra {
  const parsed = ResearchExtra.safeParse(extra);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues;
    throw new SvcError("validation", `extra.${path.join(".")}: ${message}`);
  }
  for (const url of parsed.data.urls) {
    try {
      parseAddress(url);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new SvcError("validation", `extra.urls: ${url}: ${error.message}`);
    }
  }
  return parsed.data;
}

async function research(
  request: TaskRequest,
  parts: ResearchParts,
  reader: SourceReader,
  context: TaskContext,
): Promise<Deliverable> {
  const { signal, hired, note } = context;
  const effort = EFFORT[request.effort ?? "standard"];
  const question = [request.query, request.description].filter(Boolean).join("\n");
  const extra = readExtra(request);
  const refs = await findSources(request, extra, parts, effort.sources, hired, signal);
  note(`reading ${refs.length} sources`);
  const read = await eachAtOnce(refs, (ref) => reader.read(ref));
  const sources = read.filter(isRead);
  const unread = read.filter((it): it is Unread => !isRead(it));
  const verification: Verification[] = read.filter(({ ref }) => ref.named).map((it) => ({
    criterion: `${it.address} can be read`,
    passed: isRead(it),
    evidence: isRead(it) ? `${it.text.length} characters` : it.reason,
  }));
  if (sources.length === 0) {
    const evidence = unread.map(({ address, reason }) => `${address}: ${reason}`).join("; ");
    verification.push({
      criterion: "a source was found",
      passed: false,
      evidence: evidence || "the search found nothing",
    });
    return textDeliverable("no source could be read", { verification });
  }
  const written = await write(extra, question, sources, parts, effort, context);
  note(`checking ${written.claims.length} quotes`);
  verification.push(...await verifyClaims(written.claims, reader));
  const report = reportText(question, written);
  await context.keep({ name: "report.md", media_type: "text/markdown", content: report });
  return textDeliverable(report, {
    verification,
    usage: { ...written.usage, sources: sources.length, claims: written.claims.length },
    known_hosts: sources.flatMap(({ address }) => URL.parse(address)?.hostname ?? []),
  });
}

async function findSources(
  request: TaskRequest,
  { urls, files, workdir }: Extra,
  parts: ResearchParts,
  count: number,
  hired: boolean,
  signal: AbortSignal,
): Promise<SourceRef[]> {
  const refs: SourceRef[] = urls.map((url) => ({ kind: "page", url, named: true }));
  if (workdir !== undefined) {
    const real = await parts.workdir(workdir, hired);
    const hidden = () => parts.hidden(real);
    for (const path of files) refs.push({ kind: "file", workdir: real, path, hidden, named: true });
  }
  const search = parts.search();
  if (refs.length > 0 || search === undefined) return refs;
  const found = await search(request.query ?? request.description!, count, signal);
  return found.map((url) => ({ kind: "page", url, named: false }));
}

async function write(
  { model: model_id, budget_usd = Infinity }: Extra,
  question: string,
  sources: Source[],
  parts: ResearchParts,
  effort: { claims: number; repairs: number },
  { canary, signal, note }: TaskContext,
): Promise<Omit<Written, "usage"> & { usage?: Written["usage"] }> {
  const model = await parts.model(model_id);
  if (model === undefined) {
    const claims = extractClaims(question, sources, effort.claims);
    return { summary: "", claims };
  }
  note(`${model.id} writes the report`);
  return await writeReport({
    model,
    question,
    sources,
    claims: effort.claims,
    repairs: effort.repairs,
    canary,
    budget_usd: Math.min(budget_usd, parts.budget_usd()),
    cost: (usage) => parts.cost(model.id, usage),
    signal,
  });
}

async function verifyClaims(
  claims: readonly Claim[],
  reader: SourceReader,
): Promise<Verification[]> {
  if (claims.length === 0) {
    return [{
      criterion: "there is at least one claim",
      passed: false,
      evidence: "no sentence could be used",
    }];
  }
  const used = [...new Set(claims.map(({ source }) => source))];
  const again = new Map<Source, ((quote: string) => boolean) | string>();
  await eachAtOnce(used, async (source) => {
    const it = await reader.read(source.ref);
    again.set(source, isRead(it) ? quoteFinder(it.text) : it.reason);
  });
  return claims.map(({ quote, source }, n) => {
    const found = again.get(source)!;
    const passed = typeof found !== "string" && found(quote);
    const where = addressOf(source.ref);
    return {
      criterion: `the quote of claim ${n + 1} is in its source`,
      passed,
      evidence: typeof found === "string"
        ? `cannot read ${where} again: ${found}`
        : `${JSON.stringify(quote)} ${passed ? "is in" : "is no longer in"} ${where}`,
    };
  });
}

function reportText(question: string, { summary, claims }: Pick<Written, "summary" | "claims">) {
  const sources = [...new Set(claims.map(({ source }) => source))];
  const lines = claims.map(({ claim, quote, source }) => {
    const said = claim === quote ? quote : `${claim} — “${quote}”`;
    return `- ${said} [${sources.indexOf(source) + 1}]`;
  });
  const list = sources.map(({ title, address }, n) =>
    `${n + 1}. ${title === address ? address : `${title}: ${address}`}`
  );
  return [`# ${question.split("\n", 1)[0]}`, summary, lines.join("\n"), "Sources:", list.join("\n")]
    .filter((part) => part !== "").join("\n\n");
}

/** Returns the results in the order of the items. */
async function eachAtOnce<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const workers = Array.from({ length: Math.min(AT_ONCE, items.length) }, async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]);
  });
  await Promise.all(workers);
  return results;
}
