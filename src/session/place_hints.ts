/** What to do about a session whose directory is not where it was. */
export function movedHint(session_id: string): string {
  return "if its directory was moved or renamed, run " +
    `\`svc ctl sessions move ${session_id} DIR\` with its new path; if it is on a disk that is not ` +
    "mounted, mount it; nothing was deleted";
}

/** What to do about a session whose directory its user may not read or write. */
export function accessHint(workdir: string): string {
  return `give yourself access to it again, for example with \`chmod u+rwx ${workdir}\`; ` +
    "then the session goes on";
}
