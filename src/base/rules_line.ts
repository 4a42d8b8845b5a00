/** One line for the rules that a model was told, and unreadable ones. */
export function rulesLine({ files, skipped, removed }: {
  files: readonly { path: string }[];
  skipped: readonly { path: string; reason: string }[];
  removed: readonly string[];
}): string {
  const parts = [
    said("rules read", files.map(({ path }) => path)),
    said("rules gone", removed),
    said("rules left out", skipped.map(({ path, reason }) => `${path} (${reason})`)),
  ];
  return parts.filter((it) => it !== "").join("; ");
}

function said(what: string, paths: readonly string[]): string {
  return paths.length === 0 ? "" : `${what}: ${paths.join(", ")}`;
}
