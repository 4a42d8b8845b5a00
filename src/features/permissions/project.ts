/** `svc.permissions.toml`: a project's rules. They only restrict until a person trusts them. */
import { join } from "@std/path";
import { parse } from "smol-toml";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import { lacksForNow } from "../../os/lacks.ts";
import { messageOf } from "../../protocol/errors.ts";
import { PROJECT_RULES } from "./project_rules.ts";
import { type Action, parseRule, type Rule } from "./rule.ts";

const BYTES_MAX = 256 * 1024;
const RULES_MAX = 500;
/** In directories. */
const KNOWN_MAX = 64;

interface ProjectRules {
  path: string;
  rules: Rule[];
  /** The text that a person trusts. */
  text: string;
  problem?: string;
}

export class ProjectFiles implements Disposable {
  readonly #reader = new UntrustedReader();
  readonly #known = new Map<string, { text: string; read: ProjectRules }>();

  /** Returns the current rules of a directory; undefined without a file. */
  read(workdir: string): ProjectRules | undefined {
    const path = join(workdir, PROJECT_RULES);
    let text: string | undefined;
    try {
      // Most projects have no file, and this check is cheaper.
      Deno.lstatSync(path);
      text = this.#reader.files(workdir).text(PROJECT_RULES, BYTES_MAX);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      // Without the rules, the call might be allowed wrongly.
      if (lacksForNow(error)) throw error;
      return { path, rules: [], text: "", problem: messageOf(error) };
    }
    if (text === undefined) return undefined;
    const known = this.#known.get(workdir);
    if (known?.text === text) return known.read;
    const read = { path, text, ...rulesIn(text) };
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(workdir, { text, read });
    return read;
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }
}

/** Parses the file. */
export function rulesIn(text: string): { rules: Rule[]; problem?: string } {
  try {
    const { allow = [], ask = [], deny = [], ...others } = parse(text);
    const [other] = Object.keys(others);
    if (other !== undefined) throw new Error(`${other}: is not a key; expected allow, ask or deny`);
    const read = (action: Action, texts: unknown) => {
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
    return { rules: [...read("deny", deny), ...read("ask", ask), ...read("allow", allow)] };
  } catch (error) {
    return { rules: [], problem: messageOf(error) };
  }
}
