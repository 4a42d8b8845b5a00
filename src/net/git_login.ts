/** The person's credentials, as the proxy of a command uses them. */
import { EgressRefused } from "./egress.ts";
import { type GitHost, gitHostText } from "./git_hosts.ts";

/** A name and a password. */
export interface Credential {
  readonly account: string;
  /** The value of the header. */
  readonly authorization: string;
  /** Whether a text shows its secret. */
  isIn(text: string): boolean;
}

/** The person's credentials. */
export interface Credentials {
  /** @param repository its path. @throws {EgressRefused} when there is none */
  fill(to: GitHost, repository: string): Promise<Credential>;
  /** Notes whether the server has accepted it. */
  settle(credential: Credential, accepted: boolean): Promise<void>;
}

/** The accounts that a host has accepted from a command. */
export type Accepted = Set<string>;

/** A command's login for one repository. */
export class Login {
  readonly #credentials: Credentials;
  readonly #to: GitHost;
  readonly #repository: string;
  readonly #accepted: Accepted;
  #filled: Promise<Credential> | undefined;
  #settled = false;
  #refused = false;

  /** @param accepted what its host's logins of the command share */
  constructor(credentials: Credentials, to: GitHost, repository: string, accepted: Accepted) {
    this.#credentials = credentials;
    this.#to = to;
    this.#repository = repository;
    this.#accepted = accepted;
  }

  /** The credential that was needed before; undefined if none was. */
  get known(): Promise<Credential> | undefined {
    return this.#filled;
  }

  /** Asks for the credential once. @throws {EgressRefused} when there is none that is accepted */
  async fill(): Promise<Credential> {
    if (this.#refused) throw this.#refusal();
    this.#filled ??= this.#credentials.fill(this.#to, this.#repository);
    return await this.#filled;
  }

  /** Notes that the server has accepted it. */
  async accepted(credential: Credential): Promise<void> {
    this.#accepted.add(credential.account);
    await this.#settle(credential, true);
  }

  /** Notes that the server has not. @returns what to throw */
  async rejected(credential: Credential): Promise<EgressRefused> {
    this.#refused = true;
    // An account that works elsewhere lacks a right here, which is no reason to forget it.
    if (!this.#accepted.has(credential.account)) await this.#settle(credential, false);
    return this.#refusal();
  }

  async #settle(credential: Credential, accepted: boolean): Promise<void> {
    // The person's git is told once about a repository.
    if (this.#settled) return;
    this.#settled = true;
    await this.#credentials.settle(credential, accepted);
  }

  #refusal(): EgressRefused {
    return new EgressRefused(
      `${gitHostText(this.#to)} did not accept the person's credential for ${this.#repository}; ` +
        "they can log in again outside of the sandbox, such as with git fetch in a terminal",
    );
  }
}
