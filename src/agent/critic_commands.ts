/** Finds commands that would destroy everything. */

/** A place whose loss is fatal: the root, a home, a system directory. */
const PLACE = String
  .raw`(?:\/|~\w{0,32}|\$\{?HOME(?::\?)?\}?|\/(?:bin|boot|dev|etc|home|lib|lib64|opt|root|sbin|srv|sys|usr|var|Users|System|Library|Applications))(?:\/|\/\.|\/\*|\/\.\*|\*)?`;
const EVERYTHING = String.raw`["']?${PLACE}["']?(?=\s|$|[;&|)\`,])`;
const DISK = String
  .raw`["']?\/dev\/r?(?:sd|hd|vd|xvd|nvme|disk|mmcblk|md|dm-|mapper\/)[\w/-]{0,40}`;

const DESTRUCTIVE: readonly RegExp[] = [
  new RegExp(
    String.raw`\bfind[ \t]+${EVERYTHING}[^\n;|]{0,300}-(?:delete\b|exec\s+(?:rm|shred)\b)`,
  ),
  new RegExp(String.raw`\bfind[ \t]+${EVERYTHING}[^\n;]{0,300}\|\s{0,4}xargs\b[^\n;|]{0,60}\brm\b`),
  new RegExp(
    String
      .raw`\b(?:mkfs(?:\.\w{1,20})?|wipefs|shred|blkdiscard|tee)[ \t]+(?:-\S{1,40}[ \t]+){0,8}${DISK}`,
  ),
  new RegExp(
    String
      .raw`\b(?:sgdisk|cryptsetup|hdparm)[ \t]+[^\n;|]{0,80}(?:--zap-all|-Z|luksFormat|erase)\b[^\n;|]{0,80}${DISK}`,
  ),
  new RegExp(String.raw`\bdd[ \t]+[^\n;|]{0,300}\bof=${DISK}`),
  new RegExp(String.raw`(?:^|[\s;|&\`\w])>{1,2}[ \t]{0,4}${DISK}`, "m"),
  new RegExp(String.raw`\b(?:rmtree|rmSync|rm_rf|removeSync|rimraf)\(?\s{0,4}["'\`]${PLACE}["'\`]`),
  // A function that calls itself twice, in the background.
  /([\w:.]{1,40})\s{0,4}\(\)\s{0,4}\{\s{0,4}\1\s{0,4}\|\s{0,4}\1\s{0,4}&\s{0,4}\}\s{0,4};\s{0,4}\1/,
  // Runs a remote server's response through a pipe, a substitution or an evaluation.
  /\b(?:curl|wget)\b[^\n|;.$]{0,200}[.$][^\n|;]{0,500}\|[ \t]{0,10}(?:sudo[ \t]+(?:-\S{1,20}[ \t]+)?)?(?:\/(?:usr\/)?bin\/)?(?:env[ \t]+)?(?:(?:ba|z|da|k|fi)?sh|(?:python3?|perl|ruby|node)(?=[ \t]*(?:-[ \t]*)?(?:$|[\n;&|`"'])))\b/m,
  /\b(?:(?:ba|z|da|k)?sh\s+-c|eval|source|\.)\s{1,4}["']?(?:\$\(|`|<\()\s{0,4}(?:curl|wget)\b/,
  /\b(?:ba|z|da|k)?sh\s{1,4}<\(\s{0,4}(?:curl|wget)\b/,
  /\bbase64\s{1,4}(?:-d|-D|--decode)\b[^\n|;]{0,200}\|[ \t]{0,10}(?:sudo[ \t]+)?(?:ba|z|da|k)?sh\b/,
  /\b(?:iwr|irm|curl|Invoke-WebRequest|Invoke-RestMethod)\b[^\n|;]{0,300}\|[ \t]{0,10}(?:iex|Invoke-Expression)\b/i,
  /\b(?:iex|Invoke-Expression)\b[^\n;|]{0,40}(?:\biwr\b|\birm\b|Invoke-WebRequest|Invoke-RestMethod|DownloadString)/i,
  /\bDROP\s+(?:DATABASE|SCHEMA)\s+(?!IF\s+EXISTS\s+["`]?(?:test|tmp))["`\w]+/i,
  /\bgit[ \t]+push\b(?=[^\n;|]{0,200}(?:--force(?!-with-lease)\b|[ \t]-f\b|--mirror\b|--delete\b|[ \t]-d\b|[ \t][+:](?:\S{1,80}:)?(?:main|master)\b))[^\n;|]{0,200}\b(?:main|master)\b/,
  /\bgit[ \t]+push\b[^\n;|]{0,200}--mirror\b/,
  /\b(?:format\s+[A-Z]:(?=\s*(?:$|[\/"'`.;]))|(?:rd|rmdir)\s+\/s\s+\/q\s+[A-Z]:\\|del\s+\/[fsq](?:\s+\/[fsq])*\s+[A-Z]:\\)/i,
  /\b(?:Remove-Item|ri)\b(?=[^\n;|]{0,100}\s-r(?:ecurse)?\b)[^\n;|]{0,100}\s["']?(?:[A-Z]:\\\*?|\/|~|\$HOME|\$env:USERPROFILE)["']?(?=\s|$)/i,
  /\b(?:Format-Volume|Clear-Disk)\s+-\w+|\bvssadmin\s+delete\s+shadows\b/i,
];

/** `rm`, `chmod` or `chown` with the rest of the line. */
const FILE_COMMAND = /\b(rm|chmod|chown)[ \t]+([^\n;|&`)]{1,500})/g;
const WORDS_MAX = 24;
const IS_EVERYTHING = new RegExp(String.raw`^${PLACE}$`);
/** Words of prose: no operand follows. */
const PROSE = /^(?:to|from|in|on|under|of|and|or|is|was|will|would|for|with|at|as|by|that|which)$/i;

/** Returns a destructive command in a text, if any. */
export function destructiveCommand(text: string): string | undefined {
  const plain = asShellReads(text);
  for (const found of plain.matchAll(FILE_COMMAND)) {
    if (isWholesale(found[1], found[2]) && !isWarned(plain, found.index)) return found[0].trim();
  }
  for (const pattern of DESTRUCTIVE) {
    // Almost no text has one, and `matchAll` copies the pattern.
    if (!pattern.test(plain)) continue;
    for (const found of plain.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
      if (!isWarned(plain, found.index)) return found[0].trim();
    }
  }
  return undefined;
}

/** Joins continued lines and removes what splits a word for a reader but not for a shell. */
function asShellReads(text: string): string {
  return text.replace(/\\\r?\n[ \t]*/g, " ")
    .replace(/\\(?=[a-z-])/g, "")
    .replace(/(["'])([a-z]{1,6})\1(?=\s+-)/g, "$2")
    .replace(/\b([a-z])(?:""|'')([a-z])\b/g, "$1$2")
    .replace(/\$\{?IFS\}?/g, " ");
}

/** Whether a command affects a whole place and everything below it. */
function isWholesale(command: string, rest: string): boolean {
  const words = rest.trim().split(/\s+/).slice(0, WORDS_MAX);
  const end = words.findIndex((word) => PROSE.test(word));
  const used = end < 0 ? words : words.slice(0, end);
  const recursive = used.some((word) =>
    word === "--recursive" || (/^-[a-zA-Z]+$/.test(word) && /[rR]/.test(word))
  );
  if (!recursive) return false;
  const operands = used.filter((word) => !word.startsWith("-"))
    .map((word) => word.replace(/["',]/g, ""));
  // For chmod and chown, the first operand is a mode or an owner.
  return operands.slice(command === "rm" ? 0 : 1).some((it) => IS_EVERYTHING.test(resolved(it)));
}

/** A path as the system reads it: `//`, `/./` and `/x/..` are the root. */
function resolved(path: string): string {
  if (!path.startsWith("/")) return path;
  const slash = /\/$/.test(path) ? "/" : "";
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.length === 0 ? "/" : `/${parts.join("/")}${slash}`;
}

/** Words that mark a command as an example of what not to do. */
const WARNED =
  /\b(?:(?:never|don['’]?t|do not|must not|should not|shouldn['’]?t|cannot|can['’]?t|avoid)(?:\s+(?:ever|try to|attempt to))?\s+(?:run|us|execut|typ|enter|call|past|copy|do)(?:e|ing|ning)?\b|avoid\s*[`"']?$|refus\w+|would have|prevent\w*|block(?:s|ed)\b|reject\w*|(?<!\b(?:not|n['’]t|isn['’]t|never)\s)dangerous\b)/i;
const WARNING_REACH = 80;

function isWarned(text: string, at: number): boolean {
  const line_start = text.lastIndexOf("\n", at) + 1;
  return WARNED.test(text.slice(Math.max(line_start, at - WARNING_REACH), at));
}
