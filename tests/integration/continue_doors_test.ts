/** A cut-off turn is continued by hand, over every door. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { Editor } from "../support/acp.ts";
import { WsClient } from "../contract/client.ts";
import { McpClient } from "../support/mcp.ts";
import { rawHttp } from "../support/raw.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

/** What a door said to `session.continue`. */
interface Said {
  /** Of the turn that goes on, if the door says it. */
  turn_id?: string;
  refused?: string;
}

const DOORS: Record<string, (it: Scenario) => Promise<Said>> = {
  async "WebSocket"({ daemon: { port, token }, session_id }) {
    await using client = await WsClient.connect(port, token);
    const asked = { method: "session.continue", params: { session_id } };
    const { result, error } = await client.ask(asked);
    return error === undefined ? result : { refused: error.message };
  },
  async "REST"({ daemon: { port, token }, session_id }) {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const path = `/v1/sessions/${session_id}/continue`;
    const { status, body } = await rawHttp(port, "POST", path, headers, "{}");
    return status === 200 ? JSON.parse(body) : { refused: body };
  },
  async "svc ctl call"({ place, session_id }) {
    const params = JSON.stringify({ session_id });
    const { code, stdout, stderr } = await place.svc(["ctl", "call", "session.continue", params]);
    return code === 0 ? JSON.parse(stdout) : { refused: stderr };
  },
  async "svc ctl sessions"({ place, session_id }) {
    const { code, stderr } = await place.svc(["ctl", "sessions", "continue", session_id]);
    return code === 0 ? {} : { refused: stderr };
  },
  async "MCP"({ daemon, session_id }) {
    await using client = await McpClient.http(daemon, "?caps=all");
    const { isError, structuredContent } = await client.call("svc.session.continue", {
      session_id,
    });
    return isError ? { refused: structuredContent.error_message } : structuredContent.data;
  },
  async "ACP"({ place, session_id, workdir }) {
    await using editor = new Editor(place);
    await editor.open(place.mkdir("other"));
    const where = { sessionId: session_id, cwd: workdir, mcpServers: [] };
    await editor.agent.request("session/load", where);
    const offered = editor.of("available_commands_update")
      .flatMap(({ availableCommands }) => availableCommands.map(({ name }) => name));
    try {
      const reason = await editor.prompt(session_id, "/continue");
      assertEquals([reason, offered], ["end_turn", ["continue"]]);
      return {};
    } catch (error) {
      assertEquals(offered, []);
      return { refused: String((error as Error).message) };
    }
  },
};

for (const [door, goOn] of Object.entries(DOORS)) {
  for (const mode of ["ask", "never"]) {
    Deno.test({
      name: `a turn that a crash cut off, continue = "${mode}", over ${door}`,
      ignore: !can_run_svc,
      async fn() {
        await using it = await Scenario.begin([
          { text: ["One ", "two "], hang_after: 2 },
          { text: "One two three." },
        ], { toml: `[agent]\ncontinue = "${mode}"\n` });
        await it.send("count");
        await it.event("session.delta", ({ data }) => data.text.includes("two "));
        await it.restart();
        const { data: { turn_id, stop_reason } } = await it.event("turn.completed");
        assertEquals(stop_reason, "interrupted");
        assertEquals((await it.call("session.get")).cut_off, mode === "ask");
        const said = await goOn(it);
        if (mode === "never") {
          assertMatch(said.refused!, /cannot go on/);
          assertEquals(it.asked.length, 1);
          return;
        }
        assertEquals(said.refused, undefined);
        assertEquals(said.turn_id ?? turn_id, turn_id);
        const { data } = await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
        assertEquals([data.turn_id, data.message], [turn_id, "One two three."]);
        assertEquals(it.asked[1], it.asked[0]);
        assertEquals(it.client.of("turn.continued").map(({ data }) => data.after), ["asked"]);
        // Once only.
        const again = await goOn(it);
        assertNotEquals(again.refused, undefined);
        assertEquals(it.asked.length, 2);
      },
    });
  }
}
