/** A running ACP agent: one process with one conversation. */
import {
  type AnyMessage,
  client,
  type ClientConnection,
  type ContentBlock,
  methods,
  type PromptCapabilities,
  PROTOCOL_VERSION,
  RequestError,
  type SessionUpdate,
  type StopReason,
  type Stream,
} from "@agentclientprotocol/sdk";
import { deadline } from "@std/async";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import type { StdioTransport } from "../tool_servers/stdio.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { within } from "../../base/within.ts";
import type { AgentRequests } from "./requests.ts";

/** To introduce itself. */
const START_MS = 30_000;
/** To stop a turn, before the agent is ended. */
const CANCEL_MS = 5_000;

interface TurnSide {
  requests: AgentRequests;
  update(update: SessionUpdate): void;
}

export class Agent {
  readonly #transport: StdioTransport;
  readonly #connection: ClientConnection;
  #session_id = "";
  #takes: PromptCapabilities = {};
  #turn: TurnSide | undefined;

  private constructor(transport: StdioTransport) {
    this.#transport = transport;
    this.#connection = this.#app().connect(streamOf(transport));
  }

  /**
   * Starts an agent and a conversation.
   * @param workdir an absolute path
   * @throws {SvcError} internal when it does not start or does not speak the protocol
   */
  static async open(
    transport: StdioTransport,
    { workdir, version }: { workdir: string; version: string },
  ): Promise<Agent> {
    const agent = new Agent(transport);
    try {
      await transport.start();
      await deadline(agent.#introduce(workdir, version), START_MS);
      return agent;
    } catch (cause) {
      await agent.close();
      const ended = transport.ended === undefined ? "" : `; ${transport.ended}`;
      throw new SvcError("internal", `the agent did not start: ${messageOf(cause)}${ended}`, {
        cause,
      });
    }
  }

  get gone(): boolean {
    return this.#transport.ended !== undefined;
  }

  /** Content types in a prompt besides text. */
  get takes(): PromptCapabilities {
    return this.#takes;
  }

  /**
   * Sends a prompt and waits for the answer.
   * @param signal stops the answer; an agent that does not stop is ended
   * @throws {Error} when the agent fails or has ended
   */
  async prompt(
    prompt: ContentBlock[],
    turn: TurnSide,
    signal: AbortSignal,
  ): Promise<StopReason> {
    this.#turn = turn;
    const { agent } = this.#connection;
    const answer = agent.request(methods.agent.session.prompt, {
      sessionId: this.#session_id,
      prompt,
    }).then(({ stopReason }) => stopReason);
    const onAbort = async () => {
      await agent.notify(methods.agent.session.cancel, { sessionId: this.#session_id })
        .catch(() => {});
      if (!await within(answer, CANCEL_MS)) await this.close();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (signal.aborted) await onAbort();
      return await answer;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#turn = undefined;
    }
  }

  /** Ends its process tree. */
  async close(): Promise<void> {
    this.#connection.close();
    await this.#transport.close();
  }

  async #introduce(workdir: string, version: string): Promise<void> {
    const { agent } = this.#connection;
    const { protocolVersion, agentCapabilities } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "svc", version },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    });
    if (protocolVersion !== PROTOCOL_VERSION) {
      throw new Error(`it uses version ${protocolVersion} of the protocol; svc supports version 1`);
    }
    this.#takes = agentCapabilities?.promptCapabilities ?? {};
    const { sessionId } = await agent.request(methods.agent.session.new, {
      cwd: workdir,
      mcpServers: [],
    });
    this.#session_id = sessionId;
  }

  #app() {
    const asked = (): AgentRequests => {
      if (this.#turn === undefined) throw RequestError.invalidRequest("no turn is running");
      return this.#turn.requests;
    };
    const { fs, session, terminal } = methods.client;
    return client({ name: "svc" })
      .onNotification(session.update, ({ params }) => this.#turn?.update(params.update))
      .onRequest(session.requestPermission, ({ params }) => asked().permission(params))
      .onRequest(fs.readTextFile, ({ params }) => asked().readFile(params))
      .onRequest(fs.writeTextFile, ({ params }) => asked().writeFile(params))
      .onRequest(terminal.create, ({ params }) => asked().createTerminal(params))
      .onRequest(terminal.output, ({ params }) => asked().terminal(params.terminalId).read())
      .onRequest(
        terminal.waitForExit,
        async ({ params }) => await asked().terminal(params.terminalId).ended,
      )
      .onRequest(terminal.kill, ({ params }) => asked().terminal(params.terminalId).kill())
      .onRequest(terminal.release, ({ params }) => asked().release(params.terminalId));
  }
}

/** Adapts a transport to the protocol's library. */
function streamOf(transport: StdioTransport): Stream {
  return {
    readable: new ReadableStream<AnyMessage>({
      start(controller) {
        transport.onmessage = (message) => controller.enqueue(message as AnyMessage);
        transport.onclose = () => controller.error(new Error(transport.ended));
      },
      cancel() {
        transport.onmessage = undefined;
        transport.onclose = undefined;
      },
    }),
    writable: new WritableStream<AnyMessage>({
      write: (message) => transport.send(message as JSONRPCMessage),
    }),
  };
}
