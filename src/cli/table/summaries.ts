/** One line for each command, so that `svc --help` loads nothing else. */
export const SUMMARIES = {
  chat: "Talk to an agent in a directory",
  serve: "Run the daemon in the foreground",
  open: "Open the web app in your browser",
  desktop: "Open the app in its own window",
  ctl: "Inspect and control the running daemon",
  "mcp-serve": "Serve MCP over standard input and output",
  acp: "Serve editors that speak the Agent Client Protocol",
  task: "Run tasks and show their results",
  ledger: "Export a session's journal as signed evidence, and check it",
  login: "Save the API key of a model provider",
  logout: "Remove a saved API key",
  models: "List the models that you can use",
  permissions: "List, test and change permission rules",
  doctor: "Check that everything svc needs works",
  update: "Update the installed binary to the newest release",
  completions: "Print a completion script for your shell",
} as const;
