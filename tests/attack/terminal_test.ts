/**
 * A model, a repository and a hirer write to the terminals of people. What they send is recorded as
 * the terminal gets it: bytes, not what it makes of them.
 */
import { assert } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { shellQuote } from "../../src/base/shell_quote.ts";
import { type Place, svcLine } from "../support/svc.ts";
import { TmuxTerminal } from "../support/tmux.ts";
import { attacksBy, type Loot } from "./kit.ts";
import { HOSTILE, HOSTILE_NAME, HOSTILE_PIECES, plantedIn } from "./hostile_text.ts";

const byModel = attacksBy("a model");

/** A command line of `svc`, whose arguments the shell is to read. */
function shellLine(...args: string[]): string {
  return [svcLine(), ...args].join(" ");
}

const ENDED = "the command has ended";

interface Recording {
  /** What is typed into a shell. */
  line: string;
  /** What is done once it runs; by default it ends by itself. */
  meanwhile?(terminal: TmuxTerminal): Promise<void>;
}

/** What of the hostile text a terminal got while a command ran in it. */
async function sent(place: Place, { line, meanwhile }: Recording): Promise<Loot> {
  await using terminal = await TmuxTerminal.open(place, { cols: 150, rows: 40 });
  const file = join(place.dir, `recorded-${crypto.randomUUID()}`);
  await terminal.record(file);
  await terminal.line(`${line}; echo 'the command'\\ has ended`);
  await meanwhile?.(terminal);
  await until(
    async () => await exists(file) && (await Deno.readTextFile(file)).includes(ENDED),
    `the end of ${line}`,
    30_000,
  );
  return plantedIn(await Deno.readTextFile(file));
}

async function exists(file: string): Promise<boolean> {
  return await Deno.stat(file).then(() => true, () => false);
}

/** The probe sees what a terminal is sent: the text as a shell would print it. */
async function printed(): Promise<Loot> {
  await using scenario = await Scenario.begin([]);
  const file = join(scenario.place.dir, "hostile");
  Deno.writeTextFileSync(file, HOSTILE);
  return await sent(scenario.place, { line: `cat ${shellQuote(file)}` });
}

/** A session in a directory with a hostile name, in which all that a model can write was written. */
async function conversation(): Promise<Scenario> {
  const scenario = await Scenario.begin([
    {
      text: [HOSTILE, "and then"],
      calls: [
        { name: "run_command", args: { command: `printf '%s' "$HOSTILE"; echo done` } },
        { name: `tool ${HOSTILE}`, args: { path: HOSTILE } },
        { name: "read_file", args: { path: HOSTILE } },
      ],
    },
    { text: `${HOSTILE} the end` },
  ], { start: { title: HOSTILE.replaceAll("\n", " ").slice(0, 190) } });
  const workdir = scenario.place.mkdir(`project ${HOSTILE_NAME}`);
  scenario.session_id = await scenario.client.session({
    workdir,
    model: scenario.model,
    approval: "auto",
  });
  return scenario;
}

async function afterTurn(line: (session_id: string) => Recording): Promise<Loot> {
  await using scenario = await conversation();
  await scenario.turn("go");
  return await sent(scenario.place, line(scenario.session_id));
}

byModel("writes to the terminal by `svc chat -p`", {
  needs: ["tmux"],
  control: printed,
  async attempt() {
    await using scenario = await conversation();
    const line = shellLine("chat", "-p", "go", "--session", scenario.session_id);
    return await sent(scenario.place, { line });
  },
});

byModel("writes to the terminal by the terminal UI, its past and what comes", {
  needs: ["tmux"],
  control: printed,
  async attempt() {
    await using scenario = await conversation();
    const { session_id } = scenario;
    const meanwhile = async (terminal: TmuxTerminal) => {
      await terminal.shows(/● (ready|working)/);
      await terminal.line("go");
      await terminal.shows("the end");
      await terminal.press("C-o");
      await terminal.press("PPage");
      await delay(300);
      await terminal.press("C-d");
    };
    return await sent(scenario.place, {
      line: shellLine("chat", "--session", session_id),
      meanwhile,
    });
  },
});

byModel("writes to the terminal by the chat that goes line by line", {
  needs: ["tmux"],
  control: printed,
  async attempt() {
    await using scenario = await conversation();
    const { session_id } = scenario;
    const meanwhile = async (terminal: TmuxTerminal) => {
      await terminal.shows("/help");
      await terminal.line("go");
      await terminal.shows("the end");
      await terminal.line("/quit");
    };
    const line = `TERM=dumb ${shellLine("chat", "--session", session_id)}`;
    return await sent(scenario.place, { line, meanwhile });
  },
});

byModel("writes to the terminal by `svc ctl sessions` and `svc ctl call`", {
  needs: ["tmux"],
  control: printed,
  attempt: () =>
    afterTurn((session_id) => ({
      line: [
        shellLine("ctl", "sessions", "list", "--all"),
        shellLine("ctl", "sessions", "get", session_id),
        shellLine("ctl", "call", "session.transcript", `'{"session_id": "${session_id}"}'`),
        shellLine("ctl", "call", "ledger.list_events", `'{"session_id": "${session_id}"}'`),
      ].join("; "),
    })),
});

byModel("writes to the terminal by errors, `svc doctor` and the log", {
  needs: ["tmux"],
  control: printed,
  async attempt() {
    await using scenario = await conversation();
    await scenario.turn("go");
    const { place, session_id } = scenario;
    const file = join(place.dir, "hostile");
    Deno.writeTextFileSync(file, HOSTILE);
    const params = JSON.stringify({ session_id, lane_id: HOSTILE });
    Deno.writeTextFileSync(`${file}.json`, params);
    const lines = [
      shellLine("chat", "--session", `"$(cat '${file}')"`, "-p", "x"),
      shellLine("ctl", `"$(cat '${file}')"`),
      shellLine("ctl", "call", "lanes.get", `"$(cat '${file}.json')"`),
      shellLine("doctor"),
      `cat "$SVC_HOME"/log/daemon.ndjson`,
    ];
    return await sent(place, { line: lines.join("; ") });
  },
});

attacksBy("a hirer")("writes to the terminal by what a task found", {
  needs: ["tmux"],
  control: printed,
  async attempt() {
    await using scenario = await Scenario.begin([]);
    const { place, client } = scenario;
    const workdir = place.mkdir("sources");
    // Only sentences are quoted; what breaks one up is in the question alone.
    const { "the clipboard": clipboard, "an override": override } = HOSTILE_PIECES;
    const found = `The heron ${clipboard} stands ${override} in the river for hours.`;
    Deno.writeTextFileSync(join(workdir, "heron.txt"), found);
    const lines: string[] = [];
    // The critic refuses the second one, and quotes it.
    for (const [more, field] of [["", "summary"], [HOSTILE, "error"]] as const) {
      const { id: task_id } = await client.rpc.call("task.run", {
        task_type: "research",
        query: `Where does the heron stand? ${more}`,
        extra: { workdir, files: ["heron.txt"] },
      });
      const get = () => client.rpc.call("task.get", { task_id });
      await until(async () => (await get()).completed_at !== undefined, "the end of the task");
      const task = await get();
      assert(plantedIn(task[field] ?? ""), `its ${field} is harmless: ${JSON.stringify(task)}`);
      lines.push(shellLine("task", "get", task_id), shellLine("task", "get", task_id, "--json"));
    }
    lines.push(
      shellLine("task", "list"),
      shellLine("task", "list", "--json"),
      shellLine("ctl", "tasks"),
    );
    return await sent(place, { line: lines.join("; ") });
  },
});

byModel("has a question shown otherwise than it is, in a terminal", {
  needs: ["tmux"],
  control: printed,
  async attempt() {
    await using scenario = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command: `true ${HOSTILE}` } }] },
      { text: "the end" },
    ], { start: { approval: "ask" } });
    const meanwhile = async (terminal: TmuxTerminal) => {
      await terminal.shows(/● (ready|working)/);
      await terminal.line("go");
      await terminal.shows("n deny");
      await terminal.type("v");
      await terminal.shows("full request");
      await terminal.press("End");
      await delay(600);
      await terminal.type("n");
      await terminal.press("Enter");
      await terminal.shows("the end");
      await terminal.press("C-d");
    };
    const line = shellLine("chat", "--session", scenario.session_id);
    return await sent(scenario.place, { line, meanwhile });
  },
});

byModel("has its answer changed where it is piped", {
  control: () => HOSTILE,
  async attempt() {
    await using scenario = await Scenario.begin([{ text: HOSTILE }]);
    const args = ["chat", "-p", "go", "--session", scenario.session_id];
    const { stdout } = await scenario.place.svc(args);
    return stdout.trimEnd() === HOSTILE.trimEnd() ? undefined : JSON.stringify(stdout);
  },
});
