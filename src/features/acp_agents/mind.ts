/** An agent of the Agent Client Protocol at work: one process, one conversation with it. */
import {
  type AnyMessage,
  client,
  type ClientConnection,
  type ContentBlock,
  methods,
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

/** An agent says who it is within this time. */
const START_MS = 30_000;
/** An agent that was asked to stop its turn is ended after this. */
const CANCEL_MS = 5_000;

/** What takes what an agent says and asks during one turn. */
export interface TurnSide {
  requests: AgentRequests;
  update(update: SessionUpdate): void;
}

export class Mind {
  readonly #transport: StdioTransport;
  readonly #connection: ClientConnection;
  #session_id = "";
  #turn: TurnSide | undefined;

  private constructor(transport: StdioTransport) {
    this.#transport = transport;
    this.#connection = this.#app().connect(streamOf(transport));
  }

  /**
   * Starts an agent and a conversation with it.
   *
   * @param workdir its working directory: an absolute path.
   * @throws {SvcError} internal when it does not start, or does not speak the protocol.
   */
  static async open(
    transport: StdioTransport,
    { workdir, version }: { workdir: string; version: string },
  ): Promise<Mind> {
    const mind = new Mind(transport);
    try {
      await transport.start();
      await deadline(mind.#introduce(workdir, version), START_MS);
      return mind;
    } catch (cause) {
      await mind.close();
      const ended = transport.ended === undefined ? "" : `; ${transport.ended}`;
      throw new SvcError("internal", `the agent did not start: ${messageOf(cause)}${ended}`, {
        cause,
      });
    }
  }

  /** Whether its process is gone. */
  get gone(): boolean {
    return this.#transport.ended !== undefined;
  }

  /**
   * Has it answer.
   *
   * @param signal fires when it is to stop; it is ended where it does not.
   * @throws {Error} when it fails or is gone.
   */
  async prompt(text: string, turn: TurnSide, signal: AbortSignal): Promise<StopReason> {
    this.#turn = turn;
    const prompt: ContentBlock[] = [{ type: "text", text }];
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

  /** Ends its process, with all that it started. */
  async close(): Promise<void> {
    this.#connection.close();
    await this.#transport.close();
  }

  async #introduce(workdir: string, version: string): Promise<void> {
    const { agent } = this.#connection;
    const { protocolVersion } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "svc", version },
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    });
    if (protocolVersion !== PROTOCOL_VERSION) {
      throw new Error(`it uses version ${protocolVersion} of the protocol; svc supports version 1`);
    }
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

/** A program's input and output as the protocol's library wants them. */
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
