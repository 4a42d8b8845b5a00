/**
 * An agent of the Agent Client Protocol, for tests: a prompt's lines are what it does. It is bundled
 * to one file and run by Node, so that it needs nothing that the sandbox hides.
 */
import { spawn } from "node:child_process";
import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import {
  agent,
  type AgentContext,
  type ContentBlock,
  methods,
  ndJsonStream,
  type PermissionOption,
  PROTOCOL_VERSION,
  type SessionUpdate,
  type StopReason,
  type ToolCall,
} from "@agentclientprotocol/sdk";

interface Act {
  client: AgentContext;
  sessionId: string;
  cancelled: Promise<void>;
  say(text: string): Promise<void>;
  tell(update: SessionUpdate): Promise<void>;
  prompt: readonly ContentBlock[];
}

let cancel = () => {};
let edits = 1;

/** What the first word of a line does; the rest is its argument. */
const ACTS: Record<string, (act: Act, rest: string) => Promise<StopReason | void>> = {
  say: ({ say }, rest) => say(rest),
  async read({ client, sessionId, say }, path) {
    const { content } = await client.request(methods.client.fs.readTextFile, { sessionId, path });
    await say(content);
  },
  async write({ client, sessionId }, rest) {
    const [, path, content] = rest.match(/^(\S+) (.*)$/)!;
    await client.request(methods.client.fs.writeTextFile, { sessionId, path, content });
  },
  /** Says what images it was sent, and shows them again in a call. */
  async look({ prompt, say, tell }) {
    const images = prompt.filter((block) => block.type === "image");
    const content = images.map((image) => ({ type: "content" as const, content: image }));
    const call: ToolCall = { toolCallId: "look-1", title: "look", kind: "read" };
    await tell({ sessionUpdate: "tool_call", ...call, status: "completed", content });
    await say(`seen ${images.map(({ mimeType, data }) => `${mimeType} ${data.length}`)}`);
  },
  async terminal({ client, sessionId, say }, command) {
    const terminal = await client.createTerminal({ sessionId, command });
    const { exitCode } = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await say(`exit ${exitCode}: ${output}`);
  },
  async kill({ client, sessionId, say }, command) {
    const terminal = await client.createTerminal({ sessionId, command });
    await terminal.kill();
    await say(JSON.stringify(await terminal.waitForExit()));
    await terminal.release();
  },
  async own({ client, sessionId, say, tell }, rest) {
    const toolCallId = "own-1";
    const [title, input] = rest.split(" with ");
    const call: ToolCall = { toolCallId, title, kind: "edit", ...(input && { rawInput: input }) };
    await tell({ sessionUpdate: "tool_call", ...call, status: "pending" });
    const options: PermissionOption[] = [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ];
    const { requestPermission } = methods.client.session;
    const answer = await client.request(requestPermission, { sessionId, toolCall: call, options });
    const { outcome } = answer;
    const chosen = outcome.outcome === "selected" ? outcome.optionId : "none";
    const status = chosen === "yes" ? "completed" as const : "failed" as const;
    await tell({ sessionUpdate: "tool_call_update", toolCallId, status, rawOutput: chosen });
    await say(`chosen ${chosen}`);
  },
  /**
   * Asks for what the JSON says, as agents do that write files themselves, and then does it: writes
   * `newText` of its first diff, or deletes the file; `then` is another file that it writes instead.
   * With `said`, the request itself has only the id of a call that was told before.
   */
  async edit({ client, sessionId, say, tell }, rest) {
    const { then, said, through, ...call } = JSON.parse(rest);
    const toolCallId = `edit-${edits++}`;
    const told: ToolCall = { toolCallId, title: "an edit", kind: "edit", ...call };
    await tell({ sessionUpdate: "tool_call", ...told, status: "pending" });
    const options: PermissionOption[] = [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ];
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: said ? { toolCallId } : told,
      options,
    });
    const chosen = outcome.outcome === "selected" ? outcome.optionId : "none";
    const [diff] = call.content ?? [];
    const path = then ?? diff?.path ?? call.locations[0].path;
    let did = "nothing";
    if (through) {
      const content = diff.newText;
      await client.request(methods.client.fs.writeTextFile, { sessionId, path, content });
      did = "through the client";
    } else if (chosen === "yes" || then !== undefined) {
      did = attempt(() => {
        if (told.kind === "delete") unlinkSync(path);
        else writeFileSync(path, diff.newText);
        return "written";
      });
    }
    const status = did === "written" ? "completed" as const : "failed" as const;
    await tell({ sessionUpdate: "tool_call_update", toolCallId, status, rawOutput: did });
    await say(`chosen ${chosen}, ${did}\n`);
  },
  // What the process itself may do, past the protocol.
  async steal({ say }, path) {
    await say(attempt(() => `stolen ${readFileSync(path, "utf8")}`));
  },
  async plant({ say }, path) {
    await say(attempt(() => (writeFileSync(path, "planted"), "planted")));
  },
  /** Runs a line of shell itself; what that leaves behind goes on. */
  async run({ say }, line) {
    const child = spawn("/bin/sh", ["-c", line], { stdio: "ignore" });
    const code = await new Promise((resolve) => child.once("exit", resolve));
    await say(`exit ${code}`);
  },
  variable: ({ say }, name) => say(`${name}=${process.env[name]}`),
  cost: ({ tell }, amount) =>
    tell({
      sessionUpdate: "usage_update",
      used: 1,
      size: 2,
      cost: { amount: Number(amount), currency: "USD" },
    }),
  async wait({ cancelled, say }) {
    await say("waiting");
    await cancelled;
    return "cancelled";
  },
  stubborn: async ({ say }) => {
    await say("deaf");
    await new Promise(() => setInterval(() => {}, 1_000));
  },
  // deno-lint-ignore require-await -- as all of them
  async die() {
    process.exit(7);
  },
};

function attempt(work: () => string): string {
  try {
    return work();
  } catch (error) {
    return `refused ${(error as { code?: string }).code}`;
  }
}

agent({ name: "tester" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { promptCapabilities: { image: true } },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "the-session" }))
  .onNotification(methods.agent.session.cancel, () => cancel())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const cancelled = new Promise<void>((resolve) => cancel = resolve);
    const tell = (update: SessionUpdate) =>
      client.notify(methods.client.session.update, { sessionId, update });
    const say = (text: string) =>
      tell({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    const act: Act = { client, sessionId, cancelled, say, tell, prompt };
    const text = prompt.map((block) => block.type === "text" ? block.text : "").join("");
    // What stands before the last message is told for its own sake.
    for (const line of text.split("\n\n").at(-1)!.split("\n")) {
      const [, word, rest] = line.match(/^(\S+) ?(.*)$/) ?? [];
      try {
        const reason = await ACTS[word]?.(act, rest);
        if (reason !== undefined) return { stopReason: reason };
      } catch (error) {
        await say(`failed ${(error as Error).message}`);
      }
    }
    if (text.includes("tell me all")) await say(`<<${text}>>`);
    return { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  ));
