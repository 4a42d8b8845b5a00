/** What may be written to the memory, and by whom. */
import { SvcError } from "../../protocol/errors.ts";
import { credentialIn } from "./credentials.ts";
import { mayWrite, ownerOf, type Reader, type Scope } from "../../protocol/memory.ts";

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
