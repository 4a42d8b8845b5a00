/**
 * Writes profiles for `sandbox-exec` of macOS, in its language SBPL. The last rule that fits decides.
 * Rules are about real paths: `/tmp` is `/private/tmp` there. Nothing here was run on a Mac.
 */

/** What one command may do. All paths are absolute and real. */
export interface SeatbeltScope {
  /** Directories that it may read and run programs from. */
  readable: readonly string[];
  /** Directories that it may write. */
  writable: readonly string[];
  /** Files and directories in these that it may only read, also where they are missing. */
  locked: readonly string[];
  /** Files and directories in these that it may not see. */
  hidden: readonly string[];
  /** Whether it may reach the internet and this machine's ports. */
  network: boolean;
}

/** Programs and libraries. Apple's compilers and git look for Xcode, wherever it was chosen. */
const SYSTEM = [
  ...["/System", "/usr", "/bin", "/sbin", "/opt", "/nix", "/Library", "/private/etc"],
  ...["/private/var/select", "/private/var/db/timezone", "/private/var/db/dyld"],
  ...[
    "/private/var/db/xcode_select_link",
    "/Applications/Xcode.app",
    "/Applications/Xcode-beta.app",
  ],
];
/** In there, but a person's. */
const NOT_SYSTEM = ["/Library/Keychains", "/System/Volumes/Data"];

const DEVICES = ["null", "zero", "random", "urandom", "tty", "dtracehelper"];

/** Names of users and groups, the log, notifications, and where temporary files are. */
const SERVICES = [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
  "com.apple.system.logger",
  "com.apple.system.notification_center",
  "com.apple.bsd.dirhelper",
];
/** Certificates are checked by a service, without which no Go program connects. */
const NETWORK_SERVICES = [
  "com.apple.trustd.agent",
  "com.apple.SystemConfiguration.configd",
  "com.apple.networkd",
  "com.apple.dnssd.service",
];
const RESOLVER = "/private/var/run/mDNSResponder";

/** Returns a text as SBPL writes it. */
export function quoted(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')
    .replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
  return `"${escaped}"`;
}

/** Returns the profile of a command. */
export function seatbeltProfile(scope: SeatbeltScope): string {
  const { readable, writable, locked, hidden, network } = scope;
  const inside = [...locked, ...hidden].flatMap((path) => above(path, writable));
  return [
    "(version 1)",
    "(deny default)",
    '(import "system.sb")',
    "(allow process-exec)",
    "(allow process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    // These show the environment of every program of the same user.
    rule(
      "deny sysctl-read",
      ["procargs", "procargs2"].map((it) => named("sysctl-name", `kern.${it}`)),
    ),
    rule("allow mach-lookup", SERVICES.map((name) => named("global-name", name))),
    // A program that follows a link reads the link first.
    "(allow file-read-metadata)",
    rule("allow file-read* file-map-executable", [
      named("literal", "/"),
      ...[...SYSTEM, ...readable].map((path) => named("subpath", path)),
    ]),
    rule("deny file-read*", NOT_SYSTEM.map((path) => named("subpath", path))),
    rule("allow file-read* file-write-data file-ioctl", [
      ...DEVICES.map((name) => named("literal", `/dev/${name}`)),
      // Only what the program holds already.
      '(regex #"^/dev/fd/[0-9]+$")',
      ...["stdin", "stdout", "stderr"].map((name) => named("literal", `/dev/${name}`)),
    ]),
    // Python's pools of processes need them. Their names are those of all programs.
    "(allow ipc-posix-sem)",
    rule(
      "allow file-read* file-write* file-map-executable",
      writable.map((path) => named("subpath", path)),
    ),
    rule("deny file-write*", locked.map((path) => named("subpath", path))),
    rule("deny file-read* file-write*", hidden.map((path) => named("subpath", path))),
    // Else they could be moved with a directory above, to where no rule is about them.
    rule("deny file-write-unlink", [...new Set(inside)].map((path) => named("literal", path))),
    ...(network ? networkRules() : ["(deny network*)"]),
    "",
  ].filter((line, n, all) => line !== "" || n === all.length - 1).join("\n");
}

/** Not sockets of other programs, such as Docker's, except name resolution. */
function networkRules(): string[] {
  return [
    "(allow system-socket)",
    '(allow network-outbound (remote ip "*:*"))',
    '(allow network-inbound (local ip "*:*"))',
    '(allow network-bind (local ip "*:*"))',
    rule("allow network-outbound", [named("literal", RESOLVER)]),
    rule("allow mach-lookup", NETWORK_SERVICES.map((name) => named("global-name", name))),
  ];
}

/** Returns a rule; an empty text without filters, because it would then be about everything. */
function rule(what: string, filters: readonly string[]): string {
  return filters.length === 0 ? "" : `(${what}\n  ${filters.join("\n  ")})`;
}

function named(filter: string, text: string): string {
  return `(${filter} ${quoted(text)})`;
}

/** Returns the directories above a path, up to and with the one that can be written. */
function above(path: string, writable: readonly string[]): string[] {
  const root = writable.find((each) => path.startsWith(`${each}/`));
  if (root === undefined) return [];
  const found: string[] = [];
  for (let at = path; at.length > root.length; at = at.slice(0, at.lastIndexOf("/"))) {
    if (at !== path) found.push(at);
  }
  return [...found, root];
}
