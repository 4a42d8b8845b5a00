/** Returns a host as URLs and Host headers write it: IPv6 addresses stand in brackets. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
