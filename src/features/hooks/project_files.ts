/** The files of a directory that may have hooks, by their paths in it. */
export const PROJECT_FILES = [
  "svc.hooks.toml",
  ".claude/settings.json",
  ".claude/settings.local.json",
] as const;
