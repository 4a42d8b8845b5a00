import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth";
import * as z from "zod";
import { atomicWrite, checkPrivate, readTextIfAny } from "../../os/files.ts";
import { SvcError } from "../../protocol/errors.ts";

/** A server that moves to another address needs another login. */
export interface LoginPlace {
  name: string;
  url: string;
}

/** A login as the protocol's package made it; it notes the issuer in both. */
export interface Login {
  client: OAuthClientInformationMixed;
  tokens: OAuthTokens;
}

/** The answer to each recent refresh token of a login, and its time. */
export type Refreshes = Map<string, { at: number; answer: Promise<Response> }>;

const Saved = z.array(z.strictObject({
  server: z.string(),
  url: z.string(),
  client: z.looseObject({ client_id: z.string() }),
  tokens: z.looseObject({ access_token: z.string(), token_type: z.string() }),
  saved_at: z.string(),
}));

type Entry = z.output<typeof Saved>[number];

/**
 * The person's logins at tool servers: registrations and tokens, in a file. Changes are serialized.
 */
export class Logins {
  readonly #path: string;
  #entries: Promise<Entry[]> | undefined;
  #writing: Promise<unknown> = Promise.resolve();
  /** Rights that a call lacked, by server. */
  readonly lacking = new Map<string, string>();
  readonly #refreshes = new Map<string, Refreshes>();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * @throws {SvcError} permission_denied if others can read the file; validation if it is damaged
   */
  async get({ name, url }: LoginPlace): Promise<Login | undefined> {
    const entries = await this.#all();
    return entries.find((it) => it.server === name && it.url === url);
  }

  /** Saves or replaces a login. @throws like {@linkcode Logins.get} */
  async save({ name, url }: LoginPlace, { client, tokens }: Login): Promise<void> {
    await this.#change((others) => [
      ...others,
      { server: name, url, client, tokens, saved_at: new Date().toISOString() },
    ], name);
  }

  /** Returns what the connections to a server share, so that they refresh its login once. */
  refreshesOf(name: string): Refreshes {
    const refreshes = this.#refreshes.get(name) ?? new Map();
    this.#refreshes.set(name, refreshes);
    return refreshes;
  }

  /**
   * Removes the login at a server.
   *
   * @param only the login to remove, not a newer one
   * @returns whether there was one
   */
  async remove(name: string, only?: Login): Promise<boolean> {
    const before = (await this.#all()).find(({ server }) => server === name);
    if (before === undefined) return false;
    if (only !== undefined && !isSame(before, only)) return false;
    await this.#change((others) => others, name);
    return true;
  }

  #change(make: (others: Entry[]) => Entry[], name: string): Promise<void> {
    const changing = this.#writing.then(async () => {
      const others = (await this.#all()).filter(({ server }) => server !== name);
      const next = make(others);
      await atomicWrite(this.#path, `${JSON.stringify(next, null, 2)}\n`, 0o600);
      this.#entries = Promise.resolve(next);
    });
    this.#writing = changing.catch(() => {});
    return changing;
  }

  /** This daemon is the only writer of the file. */
  #all(): Promise<Entry[]> {
    const reading = this.#entries ??= this.#read();
    reading.catch(() => this.#entries = undefined);
    return reading;
  }

  async #read(): Promise<Entry[]> {
    if (!checkPrivate(this.#path, 0o600, "file")) return [];
    try {
      return Saved.parse(JSON.parse(await readTextIfAny(this.#path) ?? "[]"));
    } catch (cause) {
      throw new SvcError("validation", `${this.#path} is damaged`, {
        hint: "remove it, and log in again with `svc ctl mcp login`",
        cause,
      });
    }
  }
}

function isSame(one: Login, other: Login): boolean {
  return one.client.client_id === other.client.client_id &&
    one.tokens.access_token === other.tokens.access_token &&
    one.tokens.refresh_token === other.tokens.refresh_token;
}

/** Returns the secrets of a login, to mask them. */
export function loginSecrets(login: Login): string[] {
  const { client, tokens } = login;
  return [client.client_secret, tokens.access_token, tokens.refresh_token, tokens.id_token]
    .filter((it) => it !== undefined);
}
