import { command, JSON_FLAG, on, option, spec, TEXT } from "../define.ts";
import { SUMMARIES } from "./summaries.ts";

export const UPDATE = spec({
  summary: SUMMARIES.update,
  about:
    `Installs the newest release at ~/.svc/bin/svc. Checks the signature and the SHA-256, and runs
the new binary once, before it replaces anything. Keeps the old binary as svc.previous. A running
daemon is not affected until its next restart.`,
  flags: {
    check: on("Only check whether there is a newer release"),
    channel: option(TEXT, "name", "Release channel", { default: "stable" }),
    "manifest-url": option(
      TEXT,
      "url",
      "Address of the release manifest; by default, [update] manifest_url in daemon.toml",
    ),
    "allow-downgrade": on(
      "Also install a release that is older than the installed or newest known one",
    ),
    rollback: on("Go back to the binary that the last update replaced"),
    restart: on("Restart the daemon afterwards; sessions continue where they were"),
    json: JSON_FLAG,
  },
  notes: "Ctrl-C stops the update and changes nothing.",
});

export const update = command(UPDATE, async () => (await import("../update.ts")).run);
