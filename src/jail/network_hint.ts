/** Recognizes commands that failed because they have no network. */

/** What programs say that cannot resolve a name or reach an address; the host where they name it. */
const FAILED = [
  // curl, git, ssh, pip and Cargo.
  /Could not resolve host(?:name)?:? ([^\s:,;]+)/,
  // Node and what is built on it.
  /getaddrinfo (?:EAI_AGAIN|ENOTFOUND) ([^\s:,;]+)/,
  /ENETUNREACH ([^\s,;]+)/,
  // Go.
  /dial tcp: lookup ([^\s:]+)/,
  /dial (?:tcp|udp) ([^\s]+): connect: network is unreachable/,
  // Java.
  /UnknownHostException: ([^\s:,;]+)/,
  // apt, wget and BusyBox.
  /Temporary failure resolving '([^']+)'/,
  /unable to resolve host address ['‘]([^'’]+)/,
  /bad address '([^']+)'/,
  // Deno and reqwest; the name is in the address.
  /error sending request for url \(\w+:\/\/([^\s/:)]+)[^)]*\)[^\n]*dns error/,
  // Python and the C library say no name.
  /Temporary failure in name resolution/,
  /Name or service not known/,
  /failed to lookup address information/,
  /Network is unreachable/,
];

/** Returns a note for a failed command without network; empty if it failed for another reason. */
export function networkHint(output: string): string[] {
  for (const pattern of FAILED) {
    const found = pattern.exec(output);
    if (found === null) continue;
    const [, host] = found;
    const what = host === undefined ? "" : `, so ${host} was not reached`;
    return [`[the network is off for commands${what}; ask for it with network: true and a reason]`];
  }
  return [];
}
