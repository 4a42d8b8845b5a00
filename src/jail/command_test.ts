import {
  assert,
  assertEquals,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { landlock_abi } from "../../tests/support/landlock.ts";
import { granted } from "../../tests/support/permissions.ts";
import { CommandAborted, type CommandOptions, type CommandResult, runCommand } from "./command.ts";
import { detectSandbox, type Sandbox } from "./sandbox.ts";

const runs = granted("run", "write", "env", "sys");
const sandboxes: Record<string, Sandbox | undefined> = {
  none: runs ? await detectSandbox("none") : undefined,
  bubblewrap: runs ? await detectSandbox("auto") : undefined,
  landlock: runs && landlock_abi > 0 ? await detectSandbox("landlock") : undefined,
};

const FLOOD = new URL("../../tests/support/command_flood_main.ts", import.meta.url).href;

interface Here {
  kind: string;
  workdir: string;
  run(command: string, options?: Partial<CommandOptions>): Promise<CommandResult>;
}

/** Enough for a command that heeds SIGTERM; the others are killed after it. */
const SHORT_GRACE_MS = 300;

/** Has a command run out of time as soon as it has written something, wherever it runs. */
function outOfTime(): Partial<CommandOptions> {
  let waited_ms = 0;
  let wrote = false;
  return {
    timeout_ms: 20,
    waited_ms: () => wrote ? waited_ms : waited_ms += 20,
    onOutput: () => wrote = true,
  };
}

/** One test for each sandbox, with a workdir of its own. */
function each(name: string, body: (here: Here) => Promise<void>): void {
  for (const [kind, sandbox] of Object.entries(sandboxes)) {
    Deno.test({
      name: `${name} (${kind})`,
      ignore: sandbox?.kind !== kind,
      async fn() {
        const workdir = await Deno.realPath(await Deno.makeTempDir({ prefix: "command" }));
        const run = (command: string, options: Partial<CommandOptions> = {}) =>
          runCommand({
            command,
            sandbox: sandbox!,
            scope: { workdir, hidden: [], network: false },
            timeout_ms: 60_000,
            signal: new AbortController().signal,
            ...options,
          });
        try {
          await body({ kind, workdir, run });
        } finally {
          await Deno.remove(workdir, { recursive: true });
          // The turn of the next command begins with a timer, which may be left of one that failed.
          await new Promise((resolve) => setTimeout(resolve));
        }
      },
    });
  }
}

each("a command's output and exit code come back", async ({ run, workdir }) => {
  const result = await run("pwd; echo oops >&2; exit 3");
  assertEquals({ ...result, duration_ms: 0 }, {
    exit_code: 3,
    signal: null,
    output: `${workdir}\noops\n`,
    truncated: false,
    timed_out: false,
    duration_ms: 0,
  });
});

each("stdout and stderr keep their order", async ({ run }) => {
  const { output } = await run("for i in $(seq 200); do echo out $i; echo err $i >&2; done");
  const expected = Array.from({ length: 200 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join("");
  assertEquals(output, expected);
});

each("quotes, newlines and leading dashes reach the shell as they are", async ({ run }) => {
  const { output } = await run(`cat <<'END'\n"a" 'b' $c \\ é\nEND\necho -- --"x y"`);
  assertEquals(output, `"a" 'b' $c \\ é\n-- --x y\n`);
});

each("standard input is empty", async ({ run }) => {
  assertEquals((await run("cat; read x || echo nothing")).output, "nothing\n");
});

each("a command that does not exist says so", async ({ run }) => {
  const result = await run("no-such-command-here");
  assertEquals(result.exit_code, 127);
  assertStringIncludes(result.output, "not found");
});

each("a command runs out of time with all that it started", async ({ run }) => {
  const marker = `6${Deno.pid}1`;
  const command = `sleep ${marker} & echo early; sleep ${marker}`;
  const result = await run(command, outOfTime());
  assertEquals([result.exit_code, result.timed_out, result.output], [null, true, "early\n"]);
  await assertGone(marker);
});

each("a child that ignores SIGTERM is killed", async ({ run }) => {
  const marker = `6${Deno.pid}2`;
  const command = `trap '' TERM; echo ready; while :; do sleep ${marker}; done`;
  const result = await run(command, { ...outOfTime(), term_grace_ms: SHORT_GRACE_MS });
  assertEquals([result.timed_out, result.output], [true, "ready\n"]);
  await assertGone(marker);
});

each("what has left its process group ends with it", async ({ run }) => {
  const marker = `6${Deno.pid}6`;
  const command = `setsid sh -c 'echo ready; exec sleep ${marker} >/dev/null' & sleep ${marker}`;
  assertEquals((await run(command, outOfTime())).output, "ready\n");
  await assertGone(marker);
});

each("a command may clean up on SIGTERM", async ({ run }) => {
  // It waits without a child, which could get the signal before it has given up the trap.
  const command =
    "mkfifo f; exec 3<>f; trap 'echo cleaned up; exit 0' TERM; echo ready; read -r _ <&3";
  const result = await run(command, outOfTime());
  assertEquals([result.timed_out, result.output], [true, "ready\ncleaned up\n"]);
});

each("a command gets SIGTERM once: programs may give up at the second", async ({ run }) => {
  const command = "mkfifo f; exec 3<>f; trap 'echo asked' TERM; (trap 'echo asked below' TERM; " +
    "echo ready; while :; do read -r _ <&3; done) & while :; do wait; done";
  const result = await run(command, { ...outOfTime(), term_grace_ms: SHORT_GRACE_MS });
  assertEquals(result.output.split("\n").sort(), ["", "asked", "asked below", "ready"]);
});

each("a stopped command gets seconds to clean up", async ({ run, workdir }) => {
  const stop = new AbortController();
  const command = "trap 'sleep 2; echo done >cleaned; exit 0' TERM; echo ready; sleep 60 & wait";
  const onOutput = () => stop.abort(new Error("stop"));
  await assertRejects(() => run(command, { signal: stop.signal, onOutput }), Error, "stop");
  assertEquals(await Deno.readTextFile(`${workdir}/cleaned`), "done\n");
});

each("an aborted command rejects with the reason once it is dead", async ({ run }) => {
  const marker = `6${Deno.pid}3`;
  const stop = new AbortController();
  const result = run(`sleep ${marker} & sleep ${marker}`, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("the person said stop")), 150);
  await assertRejects(() => result, Error, "the person said stop");
  await assertGone(marker);
});

each("whenever it is aborted while it starts, nothing of it is left", async ({ run }) => {
  const marker = `6${Deno.pid}5`;
  const command = `trap '' TERM INT; while :; do sleep ${marker}; done`;
  await Promise.all(Array.from({ length: 40 }, async (_, ms) => {
    const stop = new AbortController();
    const result = run(command, { signal: stop.signal, term_grace_ms: SHORT_GRACE_MS });
    setTimeout(() => stop.abort(new Error("stop")), ms);
    await assertRejects(() => result, Error, "stop");
  }));
  await assertGone(marker);
});

each("nothing starts when it was aborted before", async ({ run, workdir }) => {
  const signal = AbortSignal.abort(new Error("too late"));
  await assertRejects(() => run("touch started", { signal }), Error, "too late");
  assertEquals([...Deno.readDirSync(workdir)], []);
});

each("abort listeners are removed", async ({ run }) => {
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = function (...args: unknown[]) {
    listeners++;
    addEventListener.apply(this, args as Parameters<typeof addEventListener>);
  };
  signal.removeEventListener = function (...args: unknown[]) {
    listeners--;
    removeEventListener.apply(this, args as Parameters<typeof removeEventListener>);
  };
  await run("true", { signal });
  assertEquals(listeners, 0);
});

each(
  "a child left in the background is named, does not delay the result and does not stay",
  async ({ run }) => {
    const marker = `6${Deno.pid}4`;
    const named = "hi\n\n[still running when the command ended, and ended with it: sleep; ";
    const holding = await run(`sleep ${marker} & sleep ${marker} & echo hi`);
    assertEquals(holding.exit_code, 0);
    assert(holding.output.startsWith(named), holding.output);
    await assertGone(marker);
    const silent = await run(`sleep ${marker} >/dev/null 2>&1 & echo hi; exit 4`);
    assertEquals(silent.exit_code, 4);
    assert(silent.output.startsWith(named), silent.output);
    await assertGone(marker);
    assertEquals((await run("(sleep 0.01 &) ; echo hi; exit 5")).output, "hi\n");
  },
);

each("a grandchild that left the group does not delay the result", async ({ run }) => {
  const result = await run("setsid sleep 30 & echo hi");
  assertEquals([result.exit_code, result.output.slice(0, 3)], [0, "hi\n"]);
  assertLess(result.duration_ms, 30_000);
  const late = await run("setsid sleep 30 & sleep 60", { timeout_ms: 200 });
  assertEquals(late.timed_out, true);
  assertLess(late.duration_ms, 30_000);
});

each("a command ended by a signal says which", async ({ run }) => {
  const result = await run("kill -KILL $$");
  assert(result.signal === "SIGKILL" || result.exit_code === 137, JSON.stringify(result));
});

each("a flood is cut in the middle", async ({ run }) => {
  const result = await run("echo first; yes | head -c 100000000; echo last");
  assert(result.truncated);
  assertMatch(result.output, /^first\ny\n/);
  assertMatch(result.output, /\n\[… 99,967,\d{3} bytes left out …\]\n/);
  assertMatch(result.output, /y\nlast\n$/);
  assertLess(result.output.length, 40_000);
});

each("a flood is passed on in moderation, and leaves others their turn", async ({ run }) => {
  const calls: number[] = [];
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  const began = performance.now();
  await run("yes | head -c 100000000", { onOutput: (text) => calls.push(text.length) });
  const lasted = performance.now() - began;
  clearInterval(ticking);
  for (const length of calls) assertLessOrEqual(length, 16 * 1024);
  // Not the time between two: the machine may have stood still between a call and its clock.
  assertLessOrEqual(calls.length, 2 + lasted / 80);
  assertGreaterOrEqual(turns, calls.length);
});

each("output is passed on while the command runs", async ({ run, workdir }) => {
  const calls: string[] = [];
  // It goes on when it has been heard.
  const heard = (n: number) => `while [ ! -e heard${n} ]; do sleep 0.05; done`;
  const result = await run(`echo one; ${heard(1)}; echo two; ${heard(2)}; printf 'é'`, {
    onOutput: (text) => Deno.writeTextFileSync(`${workdir}/heard${calls.push(text)}`, ""),
  });
  assertEquals(calls[0], "one\n");
  assertEquals(calls.join(""), "one\ntwo\né");
  assertEquals(result.output, "one\ntwo\né");
});

each("a workdir that is gone is an error that names it", async ({ run, workdir }) => {
  const scope = { workdir: `${workdir}/gone`, hidden: [], network: false };
  await assertRejects(() => run("true", { scope }), Error, `${workdir}/gone: it does not exist`);
});

each("a command line that is too long for an argument runs like any other", async ({ run }) => {
  const long = `cat <<'END' | wc -c\n${"it's é\n".repeat(40_000)}END\nexit 3`;
  const { exit_code, output } = await run(long);
  assertEquals([exit_code, output.trim()], [3, "320000"]);
});

each("an aborted command tells what it had written", async ({ run }) => {
  const stop = new AbortController();
  const onOutput = () => stop.abort(new Error("stop"));
  const error = await assertRejects(
    () => run("echo found it; sleep 60", { signal: stop.signal, onOutput }),
    CommandAborted,
    "stop",
  );
  assertEquals(error.output, "found it\n");
});

each("many commands leave neither descriptors nor memory behind", async ({ kind }) => {
  // In a process of its own: the tests that run beside this one open and close theirs.
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", FLOOD, kind],
    stderr: "inherit",
  }).output();
  const { descriptors, rss } = JSON.parse(new TextDecoder().decode(stdout));
  assertLessOrEqual(descriptors, 2);
  assertLess(rss, 64 * 1024 * 1024);
});

/** That no `sleep <marker>` is left, however the process table calls it. */
async function assertGone(marker: string): Promise<void> {
  // The kernel may take a moment over what it was told to kill.
  for (let tries = 0; tries < 500; tries++) {
    const { stdout } = await new Deno.Command("ps", { args: ["-eo", "stat,args"] }).output();
    const left = new TextDecoder().decode(stdout).split("\n")
      .filter((line) => line.includes(`sleep ${marker}`) && !line.startsWith("Z"));
    if (left.length === 0) return;
    if (tries === 499) throw new Error(`still there: ${left.join("; ")}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

each("commands that start at once leave others their turn between them", async (here) => {
  const { kind, workdir } = here;
  const sandbox = sandboxes[kind]!;
  let passes = 0;
  const others = setInterval(() => passes++);
  const started_in: number[] = [];
  const watched: Sandbox = {
    ...sandbox,
    argv(command, scope) {
      started_in.push(passes);
      return sandbox.argv(command, scope);
    },
  };
  const scope = { workdir, hidden: [], network: false };
  await Promise.all(Array.from({ length: 8 }, () => here.run("true", { sandbox: watched, scope })));
  clearInterval(others);
  assertEquals(new Set(started_in).size, 8);
});
