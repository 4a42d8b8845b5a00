/** `svc.permissions.toml`: rules of a project, which can only be stricter than those of the person. */
import { join } from "@std/path";
import { parse } from "smol-toml";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import { lacksForNow } from "../../os/lacks.ts";
import { messageOf } from "../../protocol/errors.ts";
import { parseRule, type Rule } from "./rule.ts";

/** The name of the file, in the directory of a session. */
export const PROJECT_RULES = "svc.permissions.toml";

const BYTES_MAX = 256 * 1024;
const RULES_MAX = 500;
/** The directories whose file is remembered. */
const KNOWN_MAX = 64;

/** What the file of a project says. */
export interface ProjectRules {
  path: string;
  rules: Rule[];
  /** Why the file cannot be used. */
  problem?: string;
}

/** Reads the files of projects. */
export class ProjectFiles implements Disposable {
  readonly #reader = new UntrustedReader();
  readonly #known = new Map<string, { text: string; read: ProjectRules }>();

  /** Returns the rules of a directory's file as it is now; undefined without such a file. */
  read(workdir: string): ProjectRules | undefined {
    const path = join(workdir, PROJECT_RULES);
    let text: string | undefined;
    try {
      // Most projects have none, and this is cheaper than to look below the directory.
      Deno.lstatSync(path);
      text = this.#reader.files(workdir).text(PROJECT_RULES, BYTES_MAX);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      // Without its rules, what they deny would be allowed.
      if (lacksForNow(error)) throw error;
      return { path, rules: [], problem: messageOf(error) };
    }
    if (text === undefined) return undefined;
    const known = this.#known.get(workdir);
    if (known?.text === text) return known.read;
    const read = { path, ...rulesIn(text) };
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(workdir, { text, read });
    return read;
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }
}

/** Reads the text of such a file. */
export function rulesIn(text: string): { rules: Rule[]; problem?: string } {
  try {
    const { ask = [], deny = [], ...others } = parse(text);
    const [other] = Object.keys(others);
    if (other === "allow") throw new Error("allow: a project can only deny and ask");
    if (other !== undefined) throw new Error(`${other}: is not a key; expected ask or deny`);
    const read = (action: "ask" | "deny", texts: unknown) => {
      if (!Array.isArray(texts) || texts.length > RULES_MAX) {
        throw new Error(`${action}: expected a list of at most ${RULES_MAX} rules`);
      }
      return texts.map((text, n) => {
        if (typeof text !== "string") throw new Error(`${action}.${n}: expected a text`);
        try {
          return parseRule(action, text);
        } catch (error) {
          throw new Error(`${action}.${n}: ${messageOf(error)}`);
        }
      });
    };
    return { rules: [...read("deny", deny), ...read("ask", ask)] };
  } catch (error) {
    return { rules: [], problem: messageOf(error) };
  }
}
