/** Loaded on first use. */
import { nearestOf } from "../../base/nearest.ts";
import { visibleLine } from "../../base/visible.ts";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import { expandCommand, findCommands } from "./commands.ts";
import { directoriesIn, type Owner } from "./places.ts";
import { findSkills } from "./skills.ts";

interface LibraryParts {
  home: string;
  /** Absolute real paths that the tools of sessions in a directory cannot see. */
  hidden(workdir: string): readonly string[];
}

/** A session, or where one may begin. */
export interface Where {
  state: Pick<Session["state"], "workdir" | "trust">;
}

/** Reads commands and skills for sessions. Disposing closes the C library. */
export class Library implements Disposable {
  readonly #parts: LibraryParts;
  readonly #reader = new UntrustedReader();

  constructor(parts: LibraryParts) {
    this.#parts = parts;
  }

  /** Empty for an untrusted session. */
  commands(session: Where) {
    const { commands, problems } = this.#find(session);
    return { commands: commands.map(({ body: _, ...rest }) => rest), problems };
  }

  /** See {@linkcode expandCommand}. */
  expand(session: Where, text: string): { text: string; command?: string } {
    return isTrusted(session) ? expandCommand(text, this.#find(session).commands) : { text };
  }

  /** Empty for an untrusted session. */
  skills(session: Where) {
    return isTrusted(session)
      ? findSkills(this.#reader, this.#owner(session))
      : { skills: [], problems: [], unreadable: [] };
  }

  /**
   * Checks that a trusted session in a directory would have a skill.
   * @throws {SvcError} not_found, with the available names
   */
  requireSkill(workdir: string, name: string): void {
    const { skills } = findSkills(this.#reader, {
      home: this.#parts.home,
      workdir,
      directories: directoriesIn(workdir),
      hidden: () => [],
    });
    const names = skills.map((it) => it.name);
    if (names.includes(name)) return;
    const near = nearestOf(name, names);
    throw new SvcError("not_found", `there is no skill ${visibleLine(name)} in ${workdir}`, {
      hint: near !== undefined
        ? `did you mean ${near}?`
        : names.length > 0
        ? `skills: ${names.join(", ")}`
        : "skills are folders with a SKILL.md in .agents/skills, .claude/skills or ~/.svc/skills",
    });
  }

  /** Describes unreadable files; empty without any. */
  unreadable(session: Where): string {
    if (!isTrusted(session)) return "";
    const owner = this.#owner(session);
    const commands = findCommands(this.#reader, owner);
    const skills = findSkills(this.#reader, owner);
    return [...commands.unreadable, ...skills.unreadable]
      .map(({ path, message }) => `${path}: ${message}`).join("; ");
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  #find(session: Where) {
    return isTrusted(session)
      ? findCommands(this.#reader, this.#owner(session))
      : { commands: [], problems: [], unreadable: [] };
  }

  #owner(session: Where): Owner {
    const { home, hidden } = this.#parts;
    const { workdir } = session.state;
    return { home, workdir, directories: directoriesIn(workdir), hidden: () => hidden(workdir) };
  }
}

/** Untrusted work must not see the person's files. */
function isTrusted({ state }: Where): boolean {
  return state.trust === "trusted";
}
