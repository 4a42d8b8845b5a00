/** A project's rules, in the directory of a session. */
export const PROJECT_RULES = "svc.permissions.toml";
