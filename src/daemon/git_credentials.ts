/**
 * The person's credentials for git, from their own git and its helpers, outside of the sandbox. A
 * secret is in this process and in theirs, and in no message.
 */
import type { Semaphore } from "../base/semaphore.ts";
import type { Sandbox } from "../jail/sandbox.ts";
import { EgressRefused } from "../net/egress.ts";
import { type GitHost, gitHostText } from "../net/git_hosts.ts";
import type { Credential, Credentials } from "../net/git_login.ts";
import type { FoundProgram } from "../os/own_programs.ts";
import { runWithInput } from "../os/program_with_input.ts";
import { messageOf } from "../protocol/errors.ts";
import { fixedSources, namedSources, writableSource } from "./git_sources.ts";

interface GitCredentialsParts {
  sandbox: Pick<Sandbox, "outside" | "absence">;
  /** Of the session: git is not run from there. */
  workdir: string;
  /** Returns real paths that sessions can write. Git must read nothing there. */
  writable(): readonly string[];
  /** Limits the programs of all commands. */
  slots: Semaphore;
  /** Of the daemon. */
  environment: Readonly<Record<string, string>>;
  /** Ends what runs. */
  signal: AbortSignal;
}

type Field = readonly [name: string, value: string];

/** A helper may ask a service on the network. */
const FILL_MS = 15_000;
const SETTLE_MS = 5_000;
const LIST_MS = 5_000;

export class GitCredentials implements Credentials {
  readonly #parts: GitCredentialsParts;
  /** What git is told about a credential later on. */
  readonly #fields = new WeakMap<Credential, readonly Field[]>();

  constructor(parts: GitCredentialsParts) {
    this.#parts = parts;
  }

  async fill(to: GitHost, repository: string): Promise<Credential> {
    const host = gitHostText(to);
    let answer: string;
    try {
      answer = await this.#git("fill", FILL_MS, [
        ["protocol", "https"],
        ["host", host],
        ...(to.user === undefined ? [] : [["username", to.user]] satisfies Field[]),
        // Git drops it, unless the person has set credential.useHttpPath.
        ["path", repository.slice(1).replaceAll("%20", " ")],
      ]);
    } catch (error) {
      if (error instanceof EgressRefused) throw error;
      throw new EgressRefused(
        `the person's git gave no credential for ${host} (git credential fill: ${
          messageOf(error)
        }); they can log in outside of the sandbox, such as with git fetch in a terminal`,
      );
    }
    const fields = fieldsOf(answer);
    const value = (wanted: string) => fields.find(([name]) => name === wanted)?.[1];
    const [username, password] = [value("username"), value("password")];
    if (username === undefined || password === undefined || username.includes(":")) {
      throw new EgressRefused(`the person's git gave no name and password for ${host}`);
    }
    const credential = basic(username, password);
    this.#fields.set(credential, fields);
    return credential;
  }

  /** Never rejects: a helper that cannot keep or forget it is no reason to fail. */
  async settle(credential: Credential, accepted: boolean): Promise<void> {
    const fields = this.#fields.get(credential) ?? [];
    await this.#git(accepted ? "approve" : "reject", SETTLE_MS, fields).catch(() => {});
  }

  async #git(
    action: "fill" | "approve" | "reject",
    timeout_ms: number,
    fields: readonly Field[],
  ): Promise<string> {
    const { sandbox, workdir, slots, signal } = this.#parts;
    const release = await slots.take(signal);
    try {
      const program = sandbox.outside("git", workdir);
      if (program === undefined) throw new Error(`git ${sandbox.absence("git", workdir)}`);
      await this.#requireOwn(program);
      const input = fields.map(([name, value]) => `${name}=${value}\n`).join("") + "\n";
      return await this.#run(program, ["credential", action], timeout_ms, input);
    } finally {
      release();
    }
  }

  /** @throws {EgressRefused} if a session could have git run something */
  async #requireOwn(program: FoundProgram): Promise<void> {
    const start = { environment: this.#parts.environment, program: program.cmd };
    this.#requireUnwritable(fixedSources(start));
    // It runs nothing that the configuration names.
    const query = ["config", "--list", "-z", "--show-origin", "--includes"];
    const listed = await this.#run(program, query, LIST_MS, "");
    this.#requireUnwritable([...fixedSources(start), ...namedSources(listed, start)]);
  }

  #requireUnwritable(paths: readonly string[]): void {
    const { workdir, writable } = this.#parts;
    const found = writableSource(paths, [...writable(), workdir]);
    if (found === undefined) return;
    throw new EgressRefused(
      `svc does not ask the person's git for a credential: git would use ${found.path}, which a ` +
        `session in ${found.directory} can or could write; they can check that file, and delete ` +
        "that session or have it work in a subdirectory",
    );
  }

  #run(
    program: FoundProgram,
    args: readonly string[],
    timeout_ms: number,
    input: string,
  ): Promise<string> {
    const { environment, signal } = this.#parts;
    const env = { ...personsOwn(environment), ...ALONE };
    return runWithInput({ what: "git", program, args, input, env, timeout_ms, signal });
  }
}

/** Where the person's configuration is, see {@linkcode fixedSources}. Git's other variables may be about a repository. */
const KEPT = new Set(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"]);

const ALONE = {
  // In no repository, wherever the daemon is, so that no session has written the configuration.
  GIT_DIR: "/dev/null",
  // Nobody is asked, neither in a terminal nor in a window.
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "",
  GCM_INTERACTIVE: "never",
};

function personsOwn(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith("GIT_") || KEPT.has(name)),
  );
}

/** Parses what `git credential fill` prints. */
function fieldsOf(printed: string): Field[] {
  return printed.split("\n").flatMap((line): Field[] => {
    const at = line.indexOf("=");
    return at <= 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
  });
}

function basic(username: string, password: string): Credential {
  const coded = new TextEncoder().encode(`${username}:${password}`).toBase64();
  return {
    account: username,
    authorization: `Basic ${coded}`,
    isIn: (text) => [password, coded].some((secret) => secret !== "" && text.includes(secret)),
  };
}
