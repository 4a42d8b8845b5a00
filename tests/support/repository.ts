/** Real git repositories for tests, each in a temporary directory of its own. */
import { dirname, join } from "@std/path";
import { noted } from "./lacking.ts";
import { TempDir } from "./sessions.ts";

/** Whether git is there. */
export function gitInstalled(): boolean {
  try {
    const { success } = new Deno.Command("git", { args: ["--version"], stdout: "null" })
      .outputSync();
    return noted(success, "git");
  } catch {
    return noted(false, "git");
  }
}

/** A repository with one commit on `main`, made by git itself with no configuration of a user's. */
export class Repository implements Disposable {
  readonly #dir = new TempDir();
  readonly root = this.#dir.mkdir("repo");

  constructor(files: Record<string, string> = { "a.txt": "one\n" }) {
    this.git("init", "--quiet", "--initial-branch=main");
    this.write(files);
    this.commit("first");
  }

  /** Runs git in the repository, or in `at`. @returns what it printed, trimmed. */
  git(...args: string[]): string {
    return this.gitAt(this.root, ...args);
  }

  gitAt(at: string, ...args: string[]): string {
    const { success, stdout, stderr } = new Deno.Command("git", {
      args: ["-c", "user.name=Test", "-c", "user.email=test@example.org", ...args],
      cwd: at,
      env: { HOME: this.#dir.path, GIT_CONFIG_NOSYSTEM: "1" },
    }).outputSync();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    if (!success) throw new Error(`git ${args.join(" ")}: ${text(stderr)}`);
    return text(stdout);
  }

  /** Writes files below the repository, or below `at`. */
  write(files: Record<string, string>, at: string = this.root): void {
    for (const [path, content] of Object.entries(files)) {
      Deno.mkdirSync(dirname(join(at, path)), { recursive: true });
      Deno.writeTextFileSync(join(at, path), content);
    }
  }

  /** Commits all changes. @returns the commit. */
  commit(message: string): string {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "-m", message);
    return this.git("rev-parse", "HEAD");
  }

  /** A path beside the repository. */
  beside(name: string): string {
    return this.#dir.join(name);
  }

  [Symbol.dispose](): void {
    this.#dir[Symbol.dispose]();
  }
}
