/** What may be written to the memory, by whom, and who sees it. */
import { SvcError } from "../../protocol/errors.ts";
import { credentialIn } from "./credentials.ts";
import { type Category, type Scope, SCOPES } from "../../protocol/memory.ts";

/** The session that remembers or recalls. */
export interface Reader {
  session_id: string;
  /** Absolute real path. */
  workdir: string;
  /** Untrusted ones do hired work: nothing of this user but what is `Global` is for them. */
  trusted: boolean;
}

/** Whose an entry of a scope is that this session writes. */
export function ownerOf(scope: Scope, { session_id, workdir }: Reader): string {
  return scope === "Session" ? session_id : scope === "Worker" ? workdir : "";
}

/** The scopes, each with its owner, whose entries a session sees. */
export function visibleTo(reader: Reader): [Scope, string][] {
  return SCOPES
    .filter((scope) => reader.trusted || (scope !== "Worker" && scope !== "AllSessions"))
    .map((scope) => [scope, ownerOf(scope, reader)]);
}

/**
 * The scope of what somebody remembers without naming one. What a session learns mostly concerns the
 * project that it works on; a preference is the person's anywhere. A client has no session.
 */
export function defaultScope(category: Category, reader: Reader | undefined): Scope {
  if (reader?.trusted === false) return "Session";
  return reader === undefined || category === "preference" ? "AllSessions" : "Worker";
}

/** Whether a session may write in a scope: an untrusted one speaks to nobody but itself. */
export function mayWrite(scope: Scope, { trusted }: Reader): boolean {
  return trusted || scope === "Session";
}

/** @throws {SvcError} validation for a text that looks like a credential. */
export function requireNoCredential(text: string): void {
  const credential = credentialIn(text);
  if (credential === undefined) return;
  throw new SvcError("validation", `not saved: the text looks like ${credential}`, {
    hint: "the memory stores no credentials; describe where the credential is kept instead",
  });
}

/**
 * Whose an entry of a scope is.
 *
 * @param reader the session that writes; a client has none.
 * @throws {SvcError} validation for a scope that needs a session; permission_denied for one that is
 * not the session's.
 */
export function requireOwner(scope: Scope, reader: Reader | undefined): string {
  if (reader === undefined) {
    if (scope !== "Session" && scope !== "Worker") return "";
    throw new SvcError("validation", `an entry of scope ${scope} belongs to a session`, {
      hint: "pass session_id, or choose AllSessions, Global or Always",
    });
  }
  if (mayWrite(scope, reader)) return ownerOf(scope, reader);
  throw new SvcError("permission_denied", `an untrusted session cannot write to scope ${scope}`, {
    hint: "use scope Session",
  });
}
