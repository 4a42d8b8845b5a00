/** Who may write what to the memory, and who sees it. */
import { SvcError } from "../../protocol/errors.ts";
import { credentialIn } from "./credentials.ts";
import { type Category, type Scope, SCOPES } from "../../protocol/memory.ts";

export interface Reader {
  session_id: string;
  /** An absolute real path. */
  workdir: string;
  /** False for hired work, which sees nothing of this user but Global entries. */
  trusted: boolean;
}

/** Returns the owner of an entry that a session writes. */
function ownerOf(scope: Scope, { session_id, workdir }: Reader): string {
  return scope === "Session" ? session_id : scope === "Worker" ? workdir : "";
}

/** Returns the scopes that a session sees, each with the owner. */
export function visibleTo(reader: Reader): [Scope, string][] {
  return SCOPES
    .filter((scope) => reader.trusted || (scope !== "Worker" && scope !== "AllSessions"))
    .map((scope) => [scope, ownerOf(scope, reader)]);
}

/**
 * Returns the default scope. What a session learns is mostly about its project; a preference is the
 * person's everywhere. A client has no session.
 */
export function defaultScope(category: Category, reader: Reader | undefined): Scope {
  if (reader?.trusted === false) return "Session";
  return reader === undefined || category === "preference" ? "AllSessions" : "Worker";
}

/** Reports whether a session may write in a scope: an untrusted one only for itself. */
function mayWrite(scope: Scope, { trusted }: Reader): boolean {
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
 * Returns the owner of a new entry. @param reader the session that writes; a client has none
 * @throws {SvcError} validation for a scope that needs a session; permission_denied
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
