/** Loads a page over plain HTTP, without scripts, for machines without Chromium. */
import { htmlToText } from "../../../../net/html_text.ts";
import type { Egress } from "../../../../net/egress.ts";
import {
  decodeBody,
  follow,
  isHtml,
  isTextBody,
  mediaType,
  readBody,
} from "../../../../net/http_get.ts";
import type { Loaded, PageView } from "./page.ts";

const BODY_MAX = 16 * 1024 * 1024;

/** Fetches a page. @throws {Refusal} for a refused address; otherwise like `fetch`. */
export async function loadOverHttp(
  url: string,
  egress: Egress,
  signal: AbortSignal,
): Promise<Loaded & { view: PageView }> {
  const { response, url: final } = await follow({ url, signal, egress });
  const { bytes } = await readBody(response, BODY_MAX, signal);
  const type = mediaType(response.headers);
  const source = isTextBody(type, bytes) ? decodeBody(bytes, response.headers) : "";
  const html = isHtml(type);
  const text = html ? await htmlToText(source, final.href) : source;
  const title = html ? text.split("\n", 1)[0].replace(/^# /, "") : "";
  return {
    status: response.status,
    asked: final.href,
    view: { url: final.href, title, text, links: [] },
  };
}
