/**
 * What a model gets of the output of its commands, with inputs of the kinds that users of other
 * agents reported. The report stands in the name of the step.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { can_run_svc } from "../support/svc.ts";
import { MadeCalls } from "../support/made_calls.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

interface Shown {
  source: string;
  command: string;
  /** The result, or how it is recognized. */
  want: string | RegExp;
}

const awk = (body: string) => `awk 'BEGIN { ${body} }'`;

const OUTPUTS: Record<string, Shown> = {
  "frames that clear their line": {
    source: "anomalyco/opencode#36683",
    command: `${
      awk('for (i = 0; i < 5000; i++) printf "\\033[2K\\rstep %05d", i')
    }; echo; echo MARK`,
    want: "step 04999\nMARK",
  },
  "counters of git": {
    source: "indexable-inc/index#1348",
    command: awk(
      'for (i = 1; i <= 100; i++) printf "remote: Counting objects: %3d%%\\r", i; ' +
        'print "remote: Counting objects: 100%, done."; print "error: object 4b8 is missing"',
    ),
    want: "remote: Counting objects: 100%, done.\nerror: object 4b8 is missing",
  },
  "a line that is written over": {
    source: "yvgude/lean-ctx#1140",
    command: "printf 'first\\rsecond\\nthird\\n'",
    want: "second\nthird",
  },
  "bars in several lines": {
    source: "anomalyco/opencode#35246",
    command: awk(
      'print "a: 0"; print "b: 0"; for (i = 1; i <= 300; i++) ' +
        'printf "\\033[2A\\033[2Ka: %d\\n\\033[2Kb: %d\\n", i, i; print "warning: c is old"',
    ),
    want: "a: 300\nb: 300\nwarning: c is old",
  },
  "a spinner of backspaces, colours and a title": {
    source: "google-gemini/gemini-cli#6264",
    command: "printf '\\033]0;build\\007\\033[33m|\\b/\\b-\\b\\033[0mdone\\r\\n'; echo next",
    want: "done\nnext",
  },
  "a program": {
    source: "mlhher/late-cli#52",
    command: "echo start; cat /bin/sh; echo; echo end",
    want: /^start\n\[binary output, [\d,]+ bytes\]\n+end$/,
  },
  "random bytes": {
    source: "mlhher/late-cli#52",
    command: "head -c 300000 /dev/urandom",
    want: /^\[binary output, 300,000 bytes\]$/,
  },
  "one line of ten megabytes": {
    source: "mlhher/late-cli#52",
    command: "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end",
    want: /^x{8192}\n\[… 9,\d{3},\d{3} bytes left out …\]\nx+\nthe end$/,
  },
  "an error in the midst of much else": {
    source: "anomalyco/opencode#33650",
    command: "seq 1 20000; echo 'src/a.c:7: fatal error: b.h: no such file'; seq 1 20000",
    want:
      /\[lines in them that name an error:\]\nsrc\/a\.c:7: fatal error: b\.h: no such file\n\[…\]/,
  },
  "a command line of 150 kB": {
    source: "mmeyerlein/meclaw#351",
    command: `cat > big.txt <<'END'\n${"it's a line\n".repeat(13_000)}END\nwc -c < big.txt`,
    want: "156000",
  },
  "quotes in a long line": {
    source: "anthropics/claude-code#85111",
    command: `x='${"a".repeat(9_000)}'; echo "\${#x} $0" | sed 's#/.*/##'`,
    want: /^9000 (ba)?sh$/,
  },
  "a server that is left in the background": {
    source: "getkimchi/kimchi#973",
    command: "nohup sleep 300 >/dev/null 2>&1 & echo started",
    want:
      /^started\n\n\[still running when the command ended, and ended with it: sleep; use background /,
  },
  "a child that ends by itself": {
    source: "coder/xum#41",
    command: "(sleep 0.01; true) & echo started",
    want: "started",
  },
};

Deno.test({ name: "a command's output is what a person sees of it", ignore }, async (t) => {
  await using calls = await MadeCalls.begin({ toml: "context_tokens = 10000000" });
  await calls.in("outputs");
  for (const [name, { source, command, want }] of Object.entries(OUTPUTS)) {
    await t.step(`${name} (${source})`, async () => {
      const [made] = await calls.make(["run_command", { command }]);
      if (typeof want === "string") assertEquals(made.output, want);
      else assert(want.test(made.output), made.output.slice(0, 500));
      assert(made.ok);
    });
  }
});

Deno.test({
  name: "a command that is stopped keeps what it had written, also after a restart " +
    "(openai/codex#35735, google-gemini/gemini-cli#19512, anomalyco/opencode#13809)",
  ignore,
}, async () => {
  await using calls = await MadeCalls.begin();
  const { scenario } = calls;
  await calls.in("stopped");
  const { session_id, client } = scenario;
  const command = "echo 'FAIL tests/a.test: 3 is not 4'; sleep 300";
  await scenario.send(calls.message(["run_command", { command }]));
  await client.wait(
    ({ type, data }) => type === "lane.delta" && JSON.stringify(data).includes("FAIL"),
    "its output",
  );
  await scenario.call("session.cancel");
  const { data } = await client.wait(({ type }) => type === "session.tool_completed", "its result");
  assertEquals(data.output, "FAIL tests/a.test: 3 is not 4\n[stopped]");

  await scenario.restart();
  scenario.session_id = session_id;
  await calls.make();
  const sent = JSON.stringify(scenario.asked.at(-1));
  assertStringIncludes(sent, "FAIL tests/a.test: 3 is not 4\\n[stopped]");
});
