/** What to do when a session's directory is missing. */
export function movedHint(session_id: string): string {
  return "if its directory was moved or renamed, run " +
    `\`svc ctl sessions move ${session_id} DIR\` with its new path; if it is on a disk that is not ` +
    "mounted, mount it; nothing was deleted";
}

/** What to do when a session's directory is not accessible. */
export function accessHint(workdir: string): string {
  return `give yourself access to it again, for example with \`chmod u+rwx ${workdir}\`; ` +
    "then the session goes on";
}
