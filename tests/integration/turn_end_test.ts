/** How turns end that do not end well: named, told to the model where it helps, shown everywhere. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Editor } from "../support/acp.ts";
import type { Answer } from "../support/model_servers.ts";
import { type Provider, Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { SharedDaemon } from "./shared_daemon.ts";

const ignore = !can_run_svc;
const shared = new SharedDaemon();
const WIRES: readonly Provider[] = ["openai-compatible", "anthropic", "google"];

const cut = (text: string): Answer => ({ text, stop: "length" });
const run = (command: string): Answer => ({ calls: [{ name: "run_command", args: { command } }] });
const times = (count: number, answer: Answer): Answer[] => Array(count).fill(answer);

/** What svc told the model, as the notes in the journal have it. */
function told(it: Scenario): string[] {
  return it.client.of("lane.note").filter(({ data }) => data.reason_code === "model_told")
    .map(({ data }) => data.text);
}

function sent(it: Scenario, n: number): string {
  return JSON.stringify(it.server.requests[n].body);
}

for (const provider of WIRES) {
  Deno.test({
    name: `an answer of ${provider} that was cut off is continued without a seam`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(
        [cut("One tw"), { text: "o three." }, { text: "Again." }],
        { provider },
      );
      const { data } = await it.turn("count");
      assertEquals([data.stop_reason, data.message], ["ok", "One two three."]);
      const [notice, ...others] = told(it);
      assertEquals(others, []);
      assertMatch(notice, /cut off at the output limit. Continue exactly where it stopped/);
      assert(!sent(it, 0).includes(notice));
      assertStringIncludes(sent(it, 1), notice);
      // A daemon that reads it from the journal tells the same.
      await it.restart();
      assertEquals((await it.turn("more")).data.message, "Again.");
      const prefix = provider === "google" ? "contents" : "messages";
      const [before, after] = [1, 2].map((n) => it.server.requests[n].body[prefix]);
      const plain = (list: unknown) =>
        JSON.stringify(list).replace(/,"cache_control":{[^}]*}/g, "");
      assertEquals(plain(after.slice(0, before.length)), plain(before));
    },
  });

  Deno.test({
    name: `answers of ${provider} that end otherwise than well end their turn with the reason`,
    ignore,
    async fn() {
      // Anthropic has one word for both, Gemini none for a refusal.
      const filtered = provider === "anthropic" ? "refused" : "filtered";
      const refused = provider === "google" ? "ok" : "refused";
      const cases: [Answer[], string, string][] = [
        [times(4, cut("more ")), "length", "more more more more "],
        [[{ text: "I", stop: "filter" }], filtered, "I"],
        [[{ text: "I won't.", stop: "refusal" }], refused, "I won't."],
        [[{ text: "" }, { text: " \n" }], "empty", ""],
        [[{ text: "" }, { text: "Here." }], "ok", "Here."],
        [times(5, run("echo same")), "loop", ""],
      ];
      for (const [answers, stop_reason, message] of cases) {
        await using it = await Scenario.begin(answers, { provider });
        const { data } = await it.turn("go");
        assertEquals([data.stop_reason, data.message.trim()], [stop_reason, message.trim()]);
        assertEquals(it.server.requests.length, answers.length, stop_reason);
        assertEquals(data.error === undefined, stop_reason === "ok", data.error);
        const { activity } = await it.call("session.get");
        assertEquals(activity, "idle");
      }
    },
  });

  Deno.test({
    name: `${provider}: 429 with a time is waited for, visibly; one far ahead ends the turn`,
    ignore,
    async fn() {
      const limited = (after: string): Answer => ({
        status: { code: 429, message: "slow down", headers: { "retry-after": after } },
      });
      await using it = await Scenario.begin([
        () => limited(new Date(Date.now() + 2_000).toUTCString()),
        { text: "Here." },
        () => limited(new Date(Date.now() + 7_200_000).toUTCString()),
        limited("86400000"),
      ], { provider, toml: '[agent]\ncontinue = "never"\n' });
      assertEquals((await it.turn("go")).data.message, "Here.");
      const [note] = it.client.of("lane.note");
      assertMatch(note.data.text, /slow down; trying again in \d.\d s, at \d\d:\d\d:\d\d UTC/);
      for (
        const waits of [/until (\d{4}-\S+ )?\d\d:\d\d:\d\d UTC/, /until \d{4}-\d\d-\d\d \d\d:/]
      ) {
        const { data } = await it.turn("go on");
        assertEquals(data.stop_reason, "rate_limit");
        assertMatch(data.error, waits);
        assertMatch(data.error, /slow down.*svc waits at most 10m/);
      }
      assertEquals(it.server.requests.length, 4);
    },
  });
}

Deno.test({
  name: "a request that a filter refuses, and a call that is cut off, are told as what they are",
  ignore,
  async fn() {
    const path = "n.txt";
    await using it = await shared.begin([
      {
        calls: [{ name: "write_file", args: '{"path": "n.txt", "content": "hal' }],
        stop: "length",
      },
      { calls: [{ name: "write_file", args: { path, content: "half" } }] },
      { text: "Done." },
      {
        status: {
          code: 400,
          type: "content_filter",
          message: "blocked by content filtering policy",
        },
      },
    ]);
    assertEquals((await it.turn("write")).data.stop_reason, "ok");
    assertEquals(Deno.readTextFileSync(`${it.workdir}/${path}`), "half");
    assertMatch(told(it)[0], /its last call may be incomplete. Continue in smaller pieces/);
    const { data } = await it.turn("more");
    assertEquals(data.stop_reason, "filtered");
    assertMatch(data.error, /content filtering policy/);
  },
});

Deno.test({
  name: "the model is told of the third identical step, and steps that differ are no loop",
  ignore,
  async fn() {
    await using it = await shared.begin([
      ...times(4, run("echo same")),
      { text: "I stop." },
      // The same call with another result each time.
      ...times(7, run("echo x >> log; wc -l < log")),
      { text: "Counted." },
    ]);
    assertEquals((await it.turn("go")).data.stop_reason, "ok");
    const [notice, ...others] = told(it);
    assertEquals(others, []);
    assertMatch(notice, /same call of run_command gave the same result 3 times in a row/);
    assertEquals([0, 1, 2, 3, 4].map((n) => sent(it, n).includes(notice)), [
      false,
      false,
      false,
      true,
      true,
    ]);
    const { data } = await it.turn("count");
    assertEquals([data.stop_reason, data.message], ["ok", "Counted."]);
    assertEquals(told(it).length, 1);
  },
});

const ENDS: [name: string, answers: Answer[], code: number, acp: string | RegExp][] = [
  ["ok", [{ text: "Done." }], 0, "end_turn"],
  ["error", [{ status: { code: 400, message: "no" } }], 1, /answered 400: no/],
  ["length", times(4, cut("more ")), 4, "max_tokens"],
  ["filtered", [{ text: "I", stop: "filter" }], 5, "refusal"],
  ["refused", [{ text: "I won't.", stop: "refusal" }], 6, "refusal"],
  ["empty", times(2, { text: "" }), 7, /answered with nothing/],
  ["loop", times(5, run("echo same")), 8, /same result 5 times/],
  [
    "rate_limit",
    [{ status: { code: 429, message: "slow", headers: { "retry-after": "3456000" } } }],
    9,
    /asks to wait until .* svc waits at most 8 days/,
  ],
];

for (const [name, answers, code, acp] of ENDS) {
  Deno.test({
    name: `a turn that ends with "${name}": svc chat -p exits ${code}, an editor is told`,
    ignore: ignore || Deno.build.os === "windows",
    async fn() {
      await using it = await shared.begin([...answers, ...answers]);
      const chat = await it.place.svc(["chat", "--session", it.session_id, "-p", "go"]);
      assertEquals(chat.code, code, chat.stderr);
      if (name !== "ok") assertStringIncludes(chat.stderr, `svc: turn ${name}: `);

      const args = ["-m", it.model, "--approve", "auto"];
      await using editor = new Editor(it.place, { args });
      const sessionId = await editor.open(it.workdir);
      const ended = await editor.prompt(sessionId, "go on").catch((error) => error.message);
      if (typeof acp === "string") assertEquals(ended, acp);
      else assertMatch(ended, acp);
      const { said } = await editor.ended();
      if (["length", "empty", "loop"].includes(name)) assertMatch(said, /cut off|empty|same call/);
    },
  });
}
