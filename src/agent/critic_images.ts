/** Finds addresses that a viewer loads automatically and that carry data out. */
import { decodeReferences } from "./critic_text.ts";

/** HTML attributes whose address is loaded without a click. */
const LOADED = [
  /\b(?:src|srcset|poster|background|lowsrc)\s{0,10}=\s{0,10}(?:"([^"]{1,8000})"|'([^']{1,8000})'|([^\s"'>]+))/gi,
  /<(?:image|use|link)\b[^>]{0,600}?\bhref\s{0,10}=\s{0,10}(?:"([^"]{1,8000})"|'([^']{1,8000})'|([^\s"'>]+))/gi,
  // url(…) and @import in CSS
  /(?:\burl\(|@import)\s{0,10}["']?((?:https?:|[\\/]{2})[^\s"')]+)/gi,
];
/** `[label]: address` in Markdown. */
const REFERENCE = /^ {0,3}\[([^\]]{1,500})\]:\s{0,10}(?:<([^>\n]{1,8000})>|(\S+))/gm;

/**
 * Returns the address of an image that carries data out.
 *
 * @param known_hosts may have any address
 */
export function leakingImage(
  text: string,
  known_hosts: ReadonlySet<string>,
): string | undefined {
  const addresses = markdownImages(text);
  for (const pattern of LOADED) {
    for (const found of text.matchAll(pattern)) {
      const value = found.slice(1).find((it) => it !== undefined) ?? "";
      // A srcset has several addresses; in other attributes line breaks do not count.
      addresses.push(value, ...value.split(/,?\s+/));
    }
  }
  return addresses.map(decodeReferences).find((address) => carriesData(address, known_hosts));
}

/** Finds the addresses of `![alt](address)`, `![alt][label]` and `![label]` in one pass. */
function markdownImages(text: string): string[] {
  const references = new Map(
    [...text.matchAll(REFERENCE)].map(([, label, quoted, plain]) => [
      labelKey(label),
      quoted ?? plain,
    ]),
  );
  const addresses: string[] = [];
  /** The positions of open brackets. */
  const open: { at: number; image: boolean }[] = [];
  const bracket = /\\.|[[\]]/gs;
  for (let found; (found = bracket.exec(text)) !== null;) {
    const at = found.index;
    if (found[0] === "[") open.push({ at, image: text[at - 1] === "!" });
    if (found[0] !== "]") continue;
    const begin = open.pop();
    if (begin?.image !== true) continue;
    const after = text.slice(at + 1, at + 1 + ADDRESS_MAX);
    const inline = after.match(/^\(\s{0,10}(?:<([^>\n]*)>|([^\s)]+))/);
    if (inline) addresses.push(inline[1] ?? inline[2]);
    const label = after.match(/^\[([^\]]+)\]/)?.[1] ?? text.slice(begin.at + 1, at);
    const referred = references.get(labelKey(label));
    if (referred !== undefined) addresses.push(referred);
  }
  return addresses;
}

const ADDRESS_MAX = 8_000;
const LABEL_MAX = 500;

function labelKey(label: string): string {
  return label.slice(0, LABEL_MAX).toLowerCase().replace(/\s+/g, " ").trim();
}

/** Parameters of image servers: sizes, formats, versions. */
const IMAGE_PARAMETER =
  /^(?:w|h|width|height|size|s|q|quality|dpr|fit|crop|format|fm|auto|v|ver|version|rev|t|ts|lang|logo|logocolor|color|label|labelcolor|style|branch|raw|cb|cachebust|d|default|r|rating|event|icon|theme|maxage|cacheseconds|colora|colorb)$/i;
const IMAGE_VALUE_MAX = 32;
/** The most characters in all of a server's image parameters. */
const IMAGE_VALUES_MAX = 48;
/** A value that is more than a number of pixels, a quality or a word. */
const CODED_VALUE = /^(?=.*\d).{5,}$/;
/** A part of a path or a name that looks encoded. */
const ENCODED = /^(?=.*\d)(?=.*[a-z])[A-Za-z0-9_%+=-]{12,}$/i;
/** The most encoded-looking characters in one part, and in all parts. */
const PART_MAX = 48;
const PARTS_MAX = 128;

/** Whether an address contains more than is needed to name an image. */
function carriesData(address: string, known_hosts: ReadonlySet<string>): boolean {
  const url = URL.parse(address, "relative:");
  if (url === null || !/^(?:https?|wss?|ftp):$/.test(url.protocol)) {
    // `//host/…` uses the page's protocol; other relative addresses and data: stay local.
    return /^\s*[\\/]{2}/.test(address) && carriesData(`https:${address.trim()}`, known_hosts);
  }
  if (known_hosts.has(url.hostname)) return false;
  if (url.username !== "" || url.password !== "") return true;
  const suspicious = [...url.searchParams].some(([name, value]) =>
    value.length > IMAGE_VALUE_MAX ||
    (!/^(?:|true|false)$/.test(value) && !IMAGE_PARAMETER.test(name))
  );
  if (suspicious || (url.search.length > 1 && url.search.length > 4 * IMAGE_VALUE_MAX)) return true;
  // The limit for one parameter also holds for all of them together.
  const values = [...url.searchParams.values()];
  const coded = values.filter((value) => CODED_VALUE.test(value));
  if (sumOf(coded) > IMAGE_VALUE_MAX || sumOf(values) > IMAGE_VALUES_MAX) return true;
  if (values.length > new Set(url.searchParams.keys()).size) return true;
  // A bare query (`?secret`) is not a parameter of an image server either.
  if (url.search.length > 1 && !url.search.includes("=") && url.search.length > 12) return true;
  const encoded = [...url.hostname.split("."), ...url.pathname.split("/")]
    .map((part) => part.replace(/\.\w{2,5}$/, ""))
    .filter((part) => ENCODED.test(part) && !isDigest(part));
  const longest = Math.max(0, ...encoded.map((part) => part.length));
  return longest >= PART_MAX || sumOf(encoded) + sumOf(coded) >= PARTS_MAX;
}

function sumOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** Image servers name content by a hexadecimal digest of this length. */
function isDigest(part: string): boolean {
  return /^(?:[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i.test(part);
}
