/** The command line: finds the command, loads only its module, turns errors into exit codes. */
import { messageOf, SvcError } from "../protocol/errors.ts";
import { nearestOf } from "../base/nearest.ts";
import { UsageError } from "./args.ts";
import { visible } from "../base/visible.ts";

/** What may follow a word of the command line: the flags, and the commands below it. */
export interface Words {
  flags?: readonly string[];
  commands?: Readonly<Record<string, Words>>;
}

export interface Command extends Words {
  summary: string;
  /** Not listed in the help: a former name. */
  former?: boolean;
  load(): Promise<{ run(argv: string[]): Promise<number> }>;
}

const HIRE_FLAGS = [
  "--addr",
  "--task-timeout",
  "--caps",
  "--public-url",
  "--insecure",
  "--allow-private",
];
const SERVE_FLAGS = ["--port", "--emit-port-stdout", "--enable-agent-routes", ...HIRE_FLAGS];

/** Every command; `svc completions` offers the words of this table. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  chat: {
    summary: "talk to an agent in a directory",
    flags: ["--prompt", "--model", "--continue", "--session", "--approve", "--json"],
    load: () => import("./chat.ts"),
  },
  serve: {
    summary: "run the daemon in the foreground",
    flags: [...SERVE_FLAGS, "--install", "--uninstall", "--status", "--json"],
    commands: { restart: { flags: ["--json"] } },
    load: () => import("./serve.ts"),
  },
  open: {
    summary: "open the web app in your browser",
    flags: ["--print"],
    load: () => import("./open.ts"),
  },
  desktop: {
    summary: "open the app in a window of its own",
    flags: ["--start-at-login", "--json"],
    load: () => import("./desktop.ts"),
  },
  ctl: {
    summary: "look at and steer the running daemon",
    flags: ["--json"],
    commands: {
      discover: {},
      sessions: {
        commands: {
          list: { flags: ["--all"] },
          get: {},
          start: { flags: ["--model", "--approval", "--prompt"] },
          kill: {},
        },
      },
      ledger: { commands: { verify: {} } },
      enqueue: { flags: ["--workdir", "--model"] },
      tasks: { flags: ["--state", "--cursor"] },
      cancel: {},
      status: {},
      workers: {},
      pause: {},
      resume: {},
      wal: {},
      call: {},
    },
    load: () => import("./ctl.ts"),
  },
  "mcp-serve": {
    summary: "serve MCP over standard input and output",
    flags: ["--caps", "--safe-names"],
    load: () => import("./mcp_serve.ts"),
  },
  acp: {
    summary: "serve editors that speak the Agent Client Protocol",
    flags: ["--model", "--approve"],
    load: () => import("./acp.ts"),
  },
  task: {
    summary: "run a task and see what came of it",
    flags: ["--json"],
    commands: {
      run: {
        flags: ["--effort", "--extra", "--workdir", "--url", "--model", "--timeout"],
      },
      list: { flags: ["--state", "--cursor"] },
      get: {},
      cancel: {},
      worker: { flags: ["--workers", "--caps", "--allow-private"] },
    },
    load: () => import("./task.ts"),
  },
  doctor: {
    summary: "check that everything svc needs is well",
    flags: ["--json", "--cache", "--model"],
    load: () => import("./doctor.ts"),
  },
  update: {
    summary: "put the newest release in the place of the installed binary",
    flags: [
      "--check",
      "--channel",
      "--manifest-url",
      "--allow-downgrade",
      "--rollback",
      "--restart",
      "--json",
    ],
    load: () => import("./update.ts"),
  },
  completions: {
    summary: "print a completion script for your shell",
    commands: { bash: {}, zsh: {}, fish: {} },
    load: async () => {
      const { run } = await import("./completions.ts");
      return { run: (argv) => run(argv, COMMANDS) };
    },
  },
  daemon: {
    summary: "former name of serve and ctl",
    former: true,
    load: async () => ({ run: (await import("./aliases.ts")).daemon }),
  },
  "agent-serve": {
    summary: "former name of serve --enable-agent-routes",
    former: true,
    flags: HIRE_FLAGS,
    load: async () => ({ run: (await import("./aliases.ts")).agentServe }),
  },
};

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;
/** What stands in a command's place. */
const FLAGS = ["--help", "--version"];

/**
 * Runs a command line.
 *
 * @param argv the arguments after the program's name.
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage (contract.md section 10).
 */
export async function run(argv: string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    console.log(help());
    return name === undefined ? WRONG_USAGE : DONE;
  }
  if (name === "--version" || name === "-V") {
    const { PROTOCOL_VERSION, VERSION } = await import("../protocol/version.ts");
    console.log(`svc ${VERSION} (deno ${Deno.version.deno}, protocol ${PROTOCOL_VERSION})`);
    return DONE;
  }
  try {
    const command = COMMANDS[name];
    if (command === undefined) {
      if (name.startsWith("-")) {
        const flag = nearestOf(name, FLAGS);
        const hint = flag ? `did you mean "${flag}"?` : "svc --help lists the commands";
        throw new UsageError(`there is no flag "${name}"; ${hint}`);
      }
      const nearest = nearestOf(name, Object.keys(COMMANDS));
      const hint = nearest ? `did you mean "svc ${nearest}"?` : "svc --help lists the commands";
      throw new UsageError(`there is no command "${name}"; ${hint}`);
    }
    return await (await command.load()).run(rest);
  } catch (error) {
    console.error(`svc: ${visible(messageOf(error))}`);
    if (error instanceof SvcError && error.hint) console.error(`     ${visible(error.hint)}`);
    return error instanceof UsageError ? WRONG_USAGE : FAILED;
  }
}

function help(): string {
  const rows = Object.entries(COMMANDS)
    .filter(([, { former }]) => !former)
    .map(([name, { summary }]) => `  svc ${name.padEnd(13)}${summary}`);
  return `svc hosts agent sessions on your machine.

Usage: svc <command> [options]

${rows.join("\n")}

  svc <command> --help    what a command takes
  svc --version           versions of svc, Deno and the protocol`;
}
