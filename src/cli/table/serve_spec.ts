import { TASK_TYPES } from "../../features/tasks/task.ts";
import { DURATION, integer, JSON_FLAG, listOf, on, option, spec, TEXT } from "../define.ts";
import { SUMMARIES } from "./summaries.ts";

const HIRE = { group: "Options for hired tasks" };
const CONTROL = { group: "Background unit" };

export const CAPS = listOf(TASK_TYPES);

/** Flags that need --enable-agent-routes. */
export const HIRE_FLAGS = {
  "task-timeout": option(DURATION, "time", "Time limit of one task, such as 90s, 10m or 1h", {
    ...HIRE,
    default: "10m",
  }),
  caps: option(CAPS, "types", "Task types to offer, comma-separated", {
    ...HIRE,
    default: TASK_TYPES.join(","),
  }),
  "public-url": option(
    TEXT,
    "url",
    "Address that clients use, if there is a proxy in front of the listener",
    HIRE,
  ),
  insecure: on("Listen on a network address although SVC_SERVE_TOKENS is empty", HIRE),
  "allow-private": on("Let hired tasks reach loopback and private addresses", HIRE),
};

export const SERVE = spec({
  summary: SUMMARIES.serve,
  about: "There is one daemon per user, and clients find it automatically.",
  flags: {
    addr: option(
      TEXT,
      "host:port",
      "Loopback address to listen on, 127.0.0.1:0 by default. With --enable-agent-routes, the " +
        "address for hired tasks instead, :8440 by default (on 127.0.0.1)",
    ),
    port: option(integer(0, 65_535), "port", "Port to listen on; 0 picks a free one"),
    "emit-port-stdout": on("Print a daemon.listening line (NDJSON) when ready"),
    json: on("Print JSON; for --install, --uninstall and --status"),
    detached: on("For clients that start the daemon", { hidden: true }),
    unit: on("For the background unit", { hidden: true }),
    "enable-agent-routes": on("Also accept tasks for hire, on a separate listener", HIRE),
    ...HIRE_FLAGS,
    install: on(
      "Install a background unit for this user and start the daemon as that unit",
      CONTROL,
    ),
    uninstall: on("Stop and remove the unit; sessions and all other data are kept", CONTROL),
    status: on(
      "Show the daemon and its unit. Exits with 0 if running, 3 if stopped, 4 if not installed",
      CONTROL,
    ),
  },
  notes:
    `Ctrl-C stops the daemon gracefully. A second Ctrl-C stops it immediately; only the turns in
progress are cut off.`,
});

export const RESTART = spec({
  summary: "Stop the daemon and start a new one",
  about: `Running turns get 30 seconds to reach a safe point. Sessions continue where they were.`,
  flags: { json: JSON_FLAG },
});
