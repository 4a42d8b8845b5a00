/**
 * A command's git at hosts that the person has named: its requests go on over https, with the
 * person's credential if the server asks for one. The command never has it.
 */
import type { Destination } from "./allowed_hosts.ts";
import { EgressRefused } from "./egress.ts";
import { Exchange, type Line } from "./git_exchange.ts";
import { type Accepted, type Credentials, Login } from "./git_login.ts";
import { gitAddress, type GitHost, gitHostBehind, gitHostText } from "./git_hosts.ts";
import { parseGitRequest } from "./git_request.ts";
import type { ProxyRequest } from "./http_head.ts";
import type { Incoming } from "./incoming.ts";

interface GitParts {
  /** The hosts that are named now. */
  hosts(): readonly GitHost[];
  credentials: Credentials;
}

/** A request to the proxy. */
interface Asked {
  client: Incoming;
  request: ProxyRequest;
  to: Partial<Destination> & { host: string };
  /** Path and query. */
  target: string;
}

/** The way of one command; it keeps the credentials as long as that runs. */
export class GitWay {
  readonly #parts: GitParts;
  readonly #logins = new Map<string, Login>();
  /** By host. */
  readonly #accepted = new Map<string, Accepted>();

  constructor(parts: GitParts) {
    this.#parts = parts;
  }

  /**
   * Serves one request; the connection ends with its answer.
   *
   * @throws {EgressRefused} if it is refused; nothing was answered then
   * @throws the network's error, likewise
   */
  async serve({ client, request, to: name, target }: Asked, line: Line): Promise<void> {
    const shown = gitHostText(gitHostBehind(name));
    const to = this.#parts.hosts().find((it) => gitHostText(it) === shown);
    if (to === undefined) {
      throw new EgressRefused(`${shown} is not in git_credentials under [sandbox] of daemon.toml`);
    }
    const named = request.headers.filter(([header]) => header === "host");
    if (named.length !== 1 || named[0][1].toLowerCase() !== new URL(gitAddress(to)).host) {
      throw new EgressRefused(`refused at ${shown}: its Host header names another host`);
    }
    const git = parseGitRequest(request, target);
    if (typeof git === "string") throw new EgressRefused(`refused at ${shown}: ${git}`);
    const login = this.#login(to, git.repository);
    await new Exchange({ client, request, target, to, git, login, line }).run();
  }

  #login(to: GitHost, repository: string): Login {
    const host = gitHostText(to);
    const key = `${to.user ?? ""}@${host}${repository}`;
    let login = this.#logins.get(key);
    if (login === undefined) {
      const accepted: Accepted = this.#accepted.get(host) ?? new Set();
      this.#accepted.set(host, accepted);
      login = new Login(this.#parts.credentials, to, repository, accepted);
      this.#logins.set(key, login);
    }
    return login;
  }
}
