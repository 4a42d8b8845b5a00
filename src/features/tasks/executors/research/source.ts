/** The sources of a research task: pages and files, each read twice. */
import robots_parser from "robots-parser";
import { isAbsolute } from "@std/path";
import type { Egress } from "../../../../net/egress.ts";
import { messageOf } from "../../../../protocol/errors.ts";
import {
  decodeBody,
  explainFetch,
  follow,
  isHtml,
  isTextBody,
  mediaType,
  readBody,
  Refusal,
} from "../../../../net/http_get.ts";
import { readUntrusted } from "../../../../jail/untrusted_files.ts";
import type { Extractor } from "./extract.ts";

export type SourceRef =
  | { kind: "page"; url: string; /** Whoever asked named it. */ named: boolean }
  | {
    kind: "file";
    workdir: string;
    path: string;
    /** Returns the paths that tools in the workdir must not see. */
    hidden(): readonly string[];
    named: true;
  };

export interface Source {
  ref: SourceRef;
  /** An address, or a path in the workdir. */
  address: string;
  title: string;
  text: string;
}

export interface Unread {
  ref: SourceRef;
  address: string;
  reason: string;
}

/** The package declares an ES module, which it is not. */
const parseRobots = robots_parser as unknown as (
  url: string,
  text: string,
) => { isAllowed(url: string, agent: string): boolean | undefined };

const BODY_MAX = 8 * 1024 * 1024;
const FILE_MAX = 2 * 1024 * 1024;
const ROBOTS_MAX = 512 * 1024;
const READ_MS = 30_000;
/** In robots.txt. */
const AGENT = "svc";

export class SourceReader {
  readonly #egress: Egress;
  readonly #extractor: Extractor;
  readonly #signal: AbortSignal;
  readonly #robots = new Map<string, Promise<(url: string) => boolean>>();

  constructor(egress: Egress, extractor: Extractor, signal: AbortSignal) {
    this.#egress = egress;
    this.#extractor = extractor;
    this.#signal = signal;
  }

  /** Reads a source anew. @throws the signal's reason when the task must stop. */
  async read(ref: SourceRef): Promise<Source | Unread> {
    const address = addressOf(ref);
    try {
      const { title, text } = ref.kind === "page" ? await this.#readPage(ref.url) : readFile(ref);
      if (text.trim() === "") return { ref, address, reason: "it has no text" };
      return { ref, address, title: title || address, text };
    } catch (error) {
      this.#signal.throwIfAborted();
      return { ref, address, reason: explainFetch(error) };
    }
  }

  async #readPage(url: string): Promise<{ title: string; text: string }> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(READ_MS)]);
    const { response, url: final } = await follow({
      url,
      signal,
      egress: this.#egress,
      check: (next) => this.#askRobots(next, signal),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Refusal(`HTTP ${response.status}`);
    }
    const { bytes, cut } = await readBody(response, BODY_MAX, signal);
    if (cut) throw new Refusal(`it has more than ${BODY_MAX} bytes`);
    const type = mediaType(response.headers);
    if (!isTextBody(type, bytes)) throw new Refusal(`it is not text but ${type || "binary"}`);
    const source = decodeBody(bytes, response.headers);
    if (!isHtml(type)) return { title: "", text: source };
    return await this.#extractor.extract(source, final.href, this.#signal);
  }

  /** @throws {Refusal} when the site's robots.txt forbids reading it */
  async #askRobots(url: URL, signal: AbortSignal): Promise<void> {
    let rules = this.#robots.get(url.origin);
    if (rules === undefined) {
      this.#robots.set(url.origin, rules = this.#readRobots(url.origin, signal));
    }
    if (!(await rules)(url.href)) throw new Refusal("its robots.txt forbids it");
  }

  /** RFC 9309: a missing robots.txt allows everything, one that cannot be read allows nothing. */
  async #readRobots(origin: string, signal: AbortSignal): Promise<(url: string) => boolean> {
    const url = `${origin}/robots.txt`;
    const { response } = await follow({ url, signal, egress: this.#egress });
    const { bytes } = await readBody(response, ROBOTS_MAX, signal);
    if (response.status >= 500) return () => false;
    if (!response.ok) return () => true;
    const robots = parseRobots(url, new TextDecoder().decode(bytes));
    return (page) => robots.isAllowed(page, AGENT) ?? true;
  }
}

export function isRead(it: Source | Unread): it is Source {
  return "text" in it;
}

/** Returns a source's name in the report. */
export function addressOf(ref: SourceRef): string {
  return ref.kind === "page" ? ref.url : ref.path;
}

/** Reads a file in the workdir; links cannot lead out of it. */
function readFile(
  { workdir, path, hidden }: Extract<SourceRef, { kind: "file" }>,
): { title: string; text: string } {
  if (isAbsolute(path)) throw new Refusal("it must be relative to the workdir");
  let found: Uint8Array | undefined;
  try {
    found = readUntrusted(workdir, (files) => files.read(path, FILE_MAX), hidden());
  } catch (error) {
    throw new Refusal(messageOf(error));
  }
  if (found === undefined) throw new Refusal(`${path}: no such file or directory`);
  if (!isTextBody("", found)) throw new Refusal("it is not text");
  return { title: "", text: new TextDecoder().decode(found) };
}

/** Text, regardless of how its lines are broken. */
export function squeezed(text: string): string {
  return text.normalize("NFC").replace(/[\s\u00a0\u200b]+/g, " ").trim();
}

/** Returns a function that looks for a quote word for word. The text is normalized once. */
export function quoteFinder(text: string): (quote: string) => boolean {
  let whole: string | undefined;
  return (quote) => {
    const wanted = squeezed(quote);
    return wanted !== "" && (whole ??= squeezed(text)).includes(wanted);
  };
}
