/** What to do about a session whose directory is not where it was. */
export function movedHint(session_id: string): string {
  return `if its directory was moved or renamed, run \`svc ctl sessions move ${session_id} DIR\` ` +
    "with its new path; nothing was deleted";
}
