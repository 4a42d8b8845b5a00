/** The message in the person's own editor. */
import { join } from "@std/path";
import { INPUT_MAX } from "../features/tui/input.ts";
import { startProgram } from "../os/start.ts";
import { which } from "../os/which.ts";
import { messageOf } from "../protocol/errors.ts";
import { env } from "./environment.ts";

/** What came of it: the text, or why the message stays as it is. */
export type Edited = { text: string } | { problem: string };

/** Where neither VISUAL nor EDITOR names one. */
const EDITORS = Deno.build.os === "windows" ? ["notepad"] : ["nano", "vim", "vi"];

/** Returns the person's editor as a command line; undefined if there is none. */
export function editorCommand(): string | undefined {
  const named = env("VISUAL") ?? env("EDITOR");
  return named ?? EDITORS.find((it) => which(it, env("PATH")) !== undefined);
}

/** Edits a text in an editor that has the terminal until it ends. */
export class MessageEditor {
  #dir: string | undefined;
  #child: Deno.ChildProcess | undefined;

  async edit(text: string): Promise<Edited> {
    const command = editorCommand();
    if (command === undefined) {
      return { problem: "there is no editor: set EDITOR to the one that you use" };
    }
    const dir = this.#dir = Deno.makeTempDirSync({ prefix: "svc-message-" });
    try {
      const path = join(dir, "message.md");
      Deno.writeTextFileSync(path, text, { mode: 0o600 });
      const code = await this.#run(command, path);
      if (code !== 0) return { problem: `${command} ended with code ${code}; the message stays` };
      return this.#take(path, text);
    } catch (error) {
      return { problem: `the message stays: ${messageOf(error)}` };
    } finally {
      this.#child = undefined;
      this.#remove();
    }
  }

  async #run(command: string, path: string): Promise<number> {
    const inherited = { cwd: ".", stdin: "inherit", stdout: "inherit", stderr: "inherit" } as const;
    // EDITOR may have arguments, and blanks in quotes: a shell reads it, as for git.
    const child = this.#child = Deno.build.os === "windows"
      ? startProgram("the editor", "cmd", { args: ["/d", "/c", command, path], ...inherited })
      : startProgram("the editor", "sh", {
        args: ["-c", `${command} "$@"`, "svc-editor", path],
        ...inherited,
      });
    return (await child.status).code;
  }

  #take(path: string, before: string): Edited {
    const bytes = Deno.readFileSync(path);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // Editors end the last line.
    const whole = before.endsWith("\n") ? text : text.replace(/\r?\n$/, "");
    if (whole.length <= INPUT_MAX) return { text: whole };
    this.#dir = undefined;
    const max = INPUT_MAX.toLocaleString("en-US");
    return { problem: `a message takes at most ${max} characters; what you wrote is in ${path}` };
  }

  #remove(): void {
    const dir = this.#dir;
    this.#dir = undefined;
    try {
      if (dir !== undefined) Deno.removeSync(dir, { recursive: true });
    } catch {
      // The editor has removed it, or whoever cleans up.
    }
  }

  /** Ends the editor, which the shell has started, and removes the file. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child !== undefined) {
      const { askTree, descendantsOf } = await import("../os/process_tree.ts");
      await askTree(child.pid, await descendantsOf(child.pid));
      try {
        child.kill("SIGTERM");
      } catch {
        // It has ended.
      }
    }
    this.#remove();
  }
}
