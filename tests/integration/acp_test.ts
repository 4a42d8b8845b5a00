/** Editors: the Agent Client Protocol's own client drives sessions through `svc acp`. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { methods } from "@agentclientprotocol/sdk";
import { exists } from "@std/fs";
import { join } from "@std/path";
import { Editor } from "../support/acp.ts";
import { tinyPng } from "../support/media.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const WRITE = "write hello.txt\n```\nnew text\n```";

Deno.test({
  name: "a whole turn: text, a write that is approved with its diff, a command with its output",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    const file = join(workdir, "hello.txt");
    Deno.writeTextFileSync(file, "old text\n");
    await using editor = new Editor(place, { choose: () => "allow" });
    const sessionId = await editor.open(workdir);
    assertEquals(await editor.prompt(sessionId, `${WRITE}\nrun echo from the command`), "end_turn");
    assertEquals(Deno.readTextFileSync(file), "new text\n");

    const diff = { type: "diff", path: file, oldText: "old text\n", newText: "new text\n" };
    const [write, command] = editor.of("tool_call");
    assertEquals([write.kind, write.locations], ["edit", [{ path: file }]]);
    assertEquals([command.kind, command.title], ["execute", "run_command echo from the command"]);
    assertEquals(editor.asked.map(({ toolCall }) => toolCall.toolCallId), [
      write.toolCallId,
      command.toolCallId,
    ]);
    const [shown_diff, in_words] = editor.asked[0].toolCall.content!;
    assertEquals(shown_diff, diff as unknown);
    assertStringIncludes(JSON.stringify(in_words), "content:\\n    new text");
    assertEquals(editor.asked[0].options.map(({ kind }) => kind), [
      "allow_once",
      "allow_always",
      "reject_once",
    ]);
    const [written, ran] = editor.of("tool_call_update");
    assertEquals([written.status, written.content], ["completed", [diff]] as unknown[]);
    assertEquals(ran.status, "completed");
    assertStringIncludes(String(ran.rawOutput), "from the command");
    assertStringIncludes(editor.text(), "from the command");

    const listed = await editor.agent.request(methods.agent.session.list, { cwd: workdir });
    assertEquals(listed.sessions.map((it) => it.sessionId), [sessionId]);
    const { said } = await editor.ended();
    assertEquals(said, "svc: starting the daemon\n");
  },
});

Deno.test({
  name: "what the person denies is not done; always is asked once",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    const answers = ["deny", "allow_always"];
    await using editor = new Editor(place, { choose: () => answers.shift()! });
    const sessionId = await editor.open(workdir);
    await editor.prompt(sessionId, WRITE);
    assertEquals(editor.of("tool_call_update")[0].status, "failed");
    await editor.prompt(sessionId, "run echo twice\nrun echo twice");
    assertEquals(answers, []);
    assertEquals(editor.asked.length, 2);
    await assertRejects(() => Deno.stat(join(workdir, "hello.txt")), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "a turn is cancelled while its command runs, and while a question waits",
  ignore,
  async fn() {
    await using place = new Place();
    const hold = Promise.withResolvers<string>();
    await using editor = new Editor(place, {
      choose: ({ toolCall }) => toolCall.title?.includes("sleep") ? "allow" : hold.promise,
    });
    const sessionId = await editor.open(place.mkdir("project"));
    const running = editor.prompt(sessionId, "run sleep 600");
    const cancel = () => editor.agent.notify(methods.agent.session.cancel, { sessionId });
    await until(() => editor.asked.length === 1, "the question");
    await editor.told(() => editor.of("tool_call").length === 1, "the call");
    await cancel();
    assertEquals(await running, "cancelled");

    const asking = editor.prompt(sessionId, "run echo never");
    await until(() => editor.asked.length === 2, "the second question");
    await cancel();
    assertEquals(await asking, "cancelled");
    await until(() => editor.withdrawn >= 1, "the question taken back");
    hold.resolve("deny");
    assertEquals(await editor.prompt(sessionId, "help"), "end_turn");
  },
});

Deno.test({
  name: "a question that someone else decides is taken back, and the turn goes on",
  ignore,
  async fn() {
    await using place = new Place();
    const hold = Promise.withResolvers<string>();
    await using editor = new Editor(place, { choose: () => hold.promise });
    const sessionId = await editor.open(place.mkdir("project"));
    const turn = editor.prompt(sessionId, "run echo decided elsewhere");
    await until(() => editor.asked.length === 1, "the question");
    const call = async (verb: string, params: unknown) =>
      JSON.parse((await place.svc(["ctl", "call", verb, JSON.stringify(params)])).stdout);
    const { pending_approvals: [{ approval_id }] } = await call("session.get", {
      session_id: sessionId,
    });
    await call("session.approve", { session_id: sessionId, approval_id, decision: "allow" });
    assertEquals(await turn, "end_turn");
    assertEquals(editor.of("tool_call_update")[0].status, "completed");
    await until(() => editor.withdrawn === 1, "the question taken back");
    hold.resolve("deny");
  },
});

Deno.test({
  name: "a session goes on in another editor: loaded with what was said, resumed without",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    let sessionId: string;
    {
      await using editor = new Editor(place, { args: ["--approve", "auto"] });
      sessionId = await editor.open(workdir);
      assertEquals(await editor.prompt(sessionId, "run echo first"), "end_turn");
      assertEquals(editor.asked, []);
      assertEquals(editor.text("user"), "");
    }
    await using editor = new Editor(place);
    await editor.open(place.mkdir("other"));
    const params = { sessionId, cwd: workdir, mcpServers: [] };
    await editor.agent.request(methods.agent.session.load, params);
    assertEquals(editor.text("user"), "run echo first");
    assertEquals(editor.of("tool_call")[0].title, "run_command echo first");
    assertStringIncludes(editor.text(), "first");
    const told = editor.updates.length;
    await editor.agent.request(methods.agent.session.resume, params);
    assertEquals(editor.updates.length, told);
    assertEquals(await editor.prompt(sessionId, "run echo second"), "end_turn");
    assertEquals(editor.of("tool_call").length, 2);
    await editor.agent.request(methods.agent.session.close, { sessionId });
    await assertRejects(() => editor.prompt(sessionId, "help"));
    await editor.agent.request(methods.agent.session.delete, { sessionId });
    const { sessions } = await editor.agent.request(methods.agent.session.list, { cwd: workdir });
    assertEquals(sessions, []);
  },
});

for (const how of ["load", "resume"] as const) {
  Deno.test({
    name: `${how}: what waits for an answer is asked, and the end of a call that runs is told`,
    ignore,
    async fn() {
      await using place = new Place();
      const workdir = place.mkdir("project");
      const hold = Promise.withResolvers<string>();
      await using one = new Editor(place, { choose: () => hold.promise });
      const sessionId = await one.open(workdir);
      const go = join(workdir, "go");
      const turn = one.prompt(
        sessionId,
        `${WRITE}\nrun touch began; while [ ! -e go ]; do sleep 0.05; done; echo went`,
      );
      await until(() => one.asked.length === 1, "the question");

      await using two = new Editor(place, { choose: () => "allow_always" });
      await two.open(place.mkdir("other"));
      const params = { sessionId, cwd: workdir, mcpServers: [] };
      await two.agent.request(methods.agent.session[how], params);
      await until(() => two.asked.length === 2, "the questions, put to the other editor");
      const [write, command] = two.asked.map(({ toolCall }) => toolCall);
      assertEquals(write, one.asked[0].toolCall);
      await until(() => one.withdrawn >= 1, "the question taken back");
      await two.told(
        () => two.of("tool_call_update").some((it) => it.toolCallId === write.toolCallId),
        "the end of the call that waited",
      );
      await until(() => exists(join(workdir, "began")), "the command at work");

      await using three = new Editor(place);
      await three.open(place.mkdir("third"));
      await three.agent.request(methods.agent.session[how], params);
      const began = three.of("tool_call").find((it) => it.toolCallId === command.toolCallId);
      assertEquals(began?.status, "in_progress");
      assertEquals(three.text("user") !== "", how === "load");
      Deno.writeTextFileSync(go, "");
      const ended = () =>
        three.of("tool_call_update").find((it) => it.toolCallId === command.toolCallId);
      await three.told(() => ended() !== undefined, "the end of the call that ran");
      assertEquals(ended()!.status, "completed");
      assertStringIncludes(String(ended()!.rawOutput), "went");
      assertEquals(await turn, "end_turn");
      assertEquals([two.asked.length, three.asked.length], [2, 0]);
      hold.resolve("deny");
    },
  });
}

Deno.test({
  name: "a daemon that is killed during a turn: the prompt fails, the next one works",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using editor = new Editor(place, { args: ["--approve", "auto"] });
    const sessionId = await editor.open(place.mkdir("project"));
    const turn = editor.prompt(sessionId, "run sleep 600");
    await editor.told(() => editor.of("tool_call").length === 1, "the call");
    const failed = assertRejects(() => turn, Error, "interrupted");
    await daemon.kill();
    await failed;
    assertEquals(await editor.prompt(sessionId, "run echo after"), "end_turn");
    assertEquals(editor.of("tool_call").length, 2);
  },
});

Deno.test({
  name: "a daemon that is restarted in order: the next prompt works",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using editor = new Editor(place, { args: ["--approve", "auto"] });
    const sessionId = await editor.open(place.mkdir("project"));
    assertEquals(await editor.prompt(sessionId, "run echo before"), "end_turn");
    assertEquals((await place.svc(["serve", "restart"])).code, 0);
    await daemon.ended();
    assertEquals(await editor.prompt(sessionId, "run echo after"), "end_turn");
    assertEquals(editor.of("tool_call").length, 2);
  },
});

Deno.test({
  name: "an image of the editor comes with its prompt, and one that a tool reads is shown",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    Deno.writeFileSync(join(workdir, "shot.png"), tinyPng());
    const data = tinyPng({ width: 2 }).toBase64();
    await using editor = new Editor(place);
    const sessionId = await editor.open(workdir);
    const prompt = [
      { type: "image" as const, mimeType: "image/png", data, uri: "file:///home/me/seen.png" },
      { type: "text" as const, text: "read shot.png" },
    ];
    await editor.agent.request(methods.agent.session.prompt, { sessionId, prompt });
    const images = () => JSON.stringify(editor.of("tool_call_update"));
    await until(() => images().includes(tinyPng().toBase64()), "the image");
    const params = { sessionId, cwd: workdir, mcpServers: [] };
    await editor.agent.request(methods.agent.session.load, params);
    assertEquals(editor.text("user"), "read shot.png\n[image: seen.png, 69 bytes]");
    const broken = [{ type: "image" as const, mimeType: "image/png", data: "no image" }];
    const refused = () =>
      editor.agent.request(methods.agent.session.prompt, { sessionId, prompt: broken });
    await assertRejects(refused, Error, "not valid base64");
  },
});

Deno.test({
  name: "what cannot be done is answered with what was wrong",
  ignore,
  async fn() {
    await using place = new Place();
    await using editor = new Editor(place);
    const sessionId = await editor.open(place.mkdir("project"));
    const missing = join(place.dir, "missing");
    const opened = () =>
      editor.agent.request(methods.agent.session.new, { cwd: missing, mcpServers: [] });
    await assertRejects(opened, Error, missing);
    const prompt = [{ type: "audio" as const, data: "", mimeType: "audio/wav" }];
    const audio = () => editor.agent.request(methods.agent.session.prompt, { sessionId, prompt });
    await assertRejects(audio, Error, "not audio");
    await assertRejects(() => editor.prompt("sess_none", "help"));
    const wrong = await place.svc(["acp", "--approve", "maybe"], { stdin: "" });
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.stderr, "auto, workspace, ask or read_only");
  },
});
