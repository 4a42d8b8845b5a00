/** The text of a systemd user unit, written and read back. */
import { START_TIMEOUT_S, STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";
import type { UnitProgram } from "./program.ts";

export interface SystemdUnitOptions {
  /** The binary: an absolute path. */
  program: string;
  environment: ReadonlyMap<string, string>;
  /** Whether the daemon can tell the manager that it is ready. */
  notifies: boolean;
}

/** The unit: see systemd.service(5), systemd.exec(5) and systemd.kill(5). */
export function systemdUnit(
  { program, environment, notifies }: SystemdUnitOptions,
): string {
  const variables = [...environment].map(([name, value]) =>
    `Environment=${quoted(`${name}=${value}`)}\n`
  );
  return `# Written by svc serve --install, which writes it anew. For settings of your own:
# systemctl --user edit svc.service
# Keys of model providers and other variables stand in the file "env" of svc's home, NAME=value a
# line, mode 0600.
[Unit]
Description=svc, the daemon that hosts this user's agent sessions
# A daemon that cannot start is tried five times, not forever.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=${notifies ? "notify" : "exec"}
ExecStart=${quoted(program)} serve --unit
ExecReload=${quoted(program)} ctl call daemon.reload_config
${variables.join("")}Restart=on-failure
RestartSec=1
# Wrong usage does not mend itself.
RestartPreventExitStatus=2
TimeoutStartSec=${START_TIMEOUT_S}
# The daemon is asked alone: it brings its turns to a safe point and ends its commands itself. What
# is left after that is killed.
KillMode=mixed
TimeoutStopSec=${STOP_GRACE_S + STOP_MARGIN_S}
# A command that takes too much memory is killed by the kernel; the sessions beside it go on.
OOMPolicy=continue
# The daemon raises its soft limit itself, as far as this.
LimitNOFILE=1024:524288
# No core files: they would hold keys and conversations. A command may raise its limit again.
LimitCORE=0:infinity
# Whatever needs NoNewPrivileges or a user namespace (ProtectSystem, PrivateTmp, SystemCallFilter and
# their like, in a user unit) is left out: it would break sudo and rootless containers in sessions.
# A umask is too: it would go to every file that a session makes. The daemon sets the modes of its own.

[Install]
WantedBy=default.target
`;
}

/** Reads what a unit that was written by {@linkcode systemdUnit} runs. */
export function readSystemdUnit(text: string): UnitProgram {
  const environment = new Map<string, string>();
  for (const [, value] of text.matchAll(/^Environment=(".*")$/gm)) {
    const [, name, of] = unquoted(value).match(/^([^=]+)=(.*)$/s) ?? [];
    if (name !== undefined) environment.set(name, of);
  }
  const [, program] = text.match(/^ExecStart=("(?:\\.|[^"\\])*")/m) ?? [];
  return { program: program && unquoted(program), environment };
}

/** As a word of a unit: systemd.syntax(7), "Quoting", and systemd.unit(5), "Specifiers". */
function quoted(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped.replaceAll("%", "%%")}"`;
}

function unquoted(word: string): string {
  return word.slice(1, -1)
    .replaceAll("%%", "%")
    .replaceAll(/\\(.)/g, (_, escaped) => escaped === "n" ? "\n" : escaped);
}
