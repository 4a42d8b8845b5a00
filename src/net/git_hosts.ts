/**
 * Hosts at which the git of commands may use the person's credentials. Such a command speaks plain
 * HTTP to a name that only svc's proxy knows, so that the proxy can read the requests and add what
 * the command must not have. Names below `.invalid` never exist (RFC 6761): without the proxy they
 * lead nowhere.
 */
import { urlHost } from "../base/url_host.ts";
import { type Destination, parseAuthority } from "./allowed_hosts.ts";

const SUFFIX = ".git.svc.invalid";
const HTTPS = 443;
const HTTP = 80;

export interface GitHost extends Destination {
  /** Of the account; by default the person's git chooses it. */
  user?: string;
}

/** Parses `HOST`, maybe with `USER@` and `:PORT`. @throws {Error} with the reason */
export function parseGitHost(text: string): GitHost {
  const [, user, rest] = /^(?:([A-Za-z0-9._~+-]{1,64})@)?([^]*)$/.exec(text)!;
  const found = parseAuthority(rest);
  if (found === undefined || found.host.includes(":") || leadsToGit(found.host)) {
    throw new Error(
      `${JSON.stringify(text.slice(0, 80))} is not the exact name of a host, such as ` +
        '"github.com", "you@github.com" or "git.example.org:8443"',
    );
  }
  const { host, port = HTTPS } = found;
  if (port === HTTP) throw new Error(`${JSON.stringify(text)}: git must reach it over https`);
  return { host, port, ...(user !== undefined && { user }) };
}

/** Checks that valid entries name each host once. @throws {Error} with the host */
export function requireOneEach(texts: readonly string[]): void {
  const hosts = texts.map((text) => text.toLowerCase().replace(/^.*@|\.?(?::443)?$/g, ""));
  const twice = hosts.find((host, n) => hosts.indexOf(host) < n);
  if (twice !== undefined) throw new Error(`names ${twice} twice, which has one account here`);
}

/** Returns the host as it stands in addresses. */
export function gitHostText({ host, port }: Destination): string {
  return port === HTTPS ? urlHost(host) : `${urlHost(host)}:${port}`;
}

/** Returns the settings by which git finds the way to the hosts. */
export function gitSettings(hosts: readonly GitHost[]): [key: string, value: string][] {
  return hosts.flatMap((to) => {
    const key = `url.${gitAddress(to)}.insteadOf`;
    const text = gitHostText(to);
    const spelled = [`https://${text}/`];
    if (to.port === HTTPS) {
      spelled.push(`https://${text}:${HTTPS}/`, `http://${text}/`);
      // ssh has no way to a host through a proxy.
      spelled.push(`git@${text}:`, `ssh://git@${text}/`);
    }
    if (to.user !== undefined) spelled.push(`https://${to.user}@${text}/`);
    return spelled.map((each): [string, string] => [key, each]);
  });
}

/** Returns the address at which the proxy serves the repositories of a host. */
export function gitAddress({ host, port }: Destination): string {
  return `http://${host}${SUFFIX}${port === HTTPS ? "" : `:${port}`}/`;
}

/** Reports whether a name is one that only the proxy knows. */
export function leadsToGit(host: string): boolean {
  return `.${host}`.endsWith(SUFFIX);
}

/** Returns the host behind such a name. @param port of the request; default: none was named */
export function gitHostBehind({ host, port = HTTP }: Partial<Destination> & { host: string }) {
  return { host: host.slice(0, -SUFFIX.length), port: port === HTTP ? HTTPS : port };
}
