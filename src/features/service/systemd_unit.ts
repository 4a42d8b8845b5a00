/** The text of a systemd user unit. */
import { START_TIMEOUT_S, STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";
import type { UnitProgram } from "./program.ts";

interface SystemdUnitOptions {
  /** An absolute path. */
  program: string;
  environment: ReadonlyMap<string, string>;
  /** Whether the daemon can report that it is ready. */
  notifies: boolean;
}

/** Returns the unit; see systemd.service(5), systemd.exec(5) and systemd.kill(5). */
export function systemdUnit(
  { program, environment, notifies }: SystemdUnitOptions,
): string {
  const variables = [...environment].map(([name, value]) =>
    `Environment=${quoted(`${name}=${value}`)}\n`
  );
  return `# Written by svc serve --install, which overwrites it. To add your own settings:
# systemctl --user edit svc.service
# Put keys of model providers and other variables in the file "env" of svc's home: one NAME=value per
# line, with mode 0600.
[Unit]
Description=svc, the daemon that hosts this user's agent sessions
# Give up after five failed starts.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=${notifies ? "notify" : "exec"}
ExecStart=${quoted(program)} serve --unit
ExecReload=${quoted(program)} ctl call daemon.reload_config
${variables.join("")}Restart=on-failure
RestartSec=1
# A restart does not fix wrong usage.
RestartPreventExitStatus=2
TimeoutStartSec=${START_TIMEOUT_S}
# Only the daemon gets the signal: it brings its turns to a safe point and stops its commands. What
# remains after that is killed.
KillMode=mixed
TimeoutStopSec=${STOP_GRACE_S + STOP_MARGIN_S}
# The kernel kills a command that uses too much memory; other sessions continue.
OOMPolicy=continue
# The daemon has a control group for the commands of each session, which holds their limits.
Delegate=memory pids
# Sockets that hold the daemon's port while it restarts: no other user can take it.
FileDescriptorStoreMax=4
# The daemon raises its own soft limit up to this.
LimitNOFILE=1024:524288
# No core files: they would contain keys and conversations. A command can raise its limit again.
LimitCORE=0:infinity
# Options that need NoNewPrivileges or a user namespace (ProtectSystem, PrivateTmp, SystemCallFilter and
# others, in a user unit) are left out: they would break sudo and rootless containers in sessions.
# So is a umask, which would apply to every file of a session. The daemon sets the modes of its files.

[Install]
WantedBy=default.target
`;
}

/** Parses a unit of {@linkcode systemdUnit}. */
export function readSystemdUnit(text: string): UnitProgram {
  const environment = new Map<string, string>();
  for (const [, value] of text.matchAll(/^Environment=(".*")$/gm)) {
    const [, name, of] = unquoted(value).match(/^([^=]+)=(.*)$/s) ?? [];
    if (name !== undefined) environment.set(name, of);
  }
  const [, program] = text.match(/^ExecStart=("(?:\\.|[^"\\])*")/m) ?? [];
  return { program: program && unquoted(program), environment };
}

/** Quotes a word: systemd.syntax(7), "Quoting", and systemd.unit(5), "Specifiers". */
function quoted(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped.replaceAll("%", "%%")}"`;
}

function unquoted(word: string): string {
  return word.slice(1, -1)
    .replaceAll("%%", "%")
    .replaceAll(/\\(.)/g, (_, escaped) => escaped === "n" ? "\n" : escaped);
}
