/** An editor, as far as the protocol sees one: the SDK's own client over `svc acp`. */
import {
  client,
  type ClientConnection,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { toText } from "@std/streams";
import { until } from "./scripted.ts";
import { type Place, spawnSvc } from "./svc.ts";

/** What the person at the editor answers. */
export type Choice = (asked: RequestPermissionRequest) => string | Promise<string>;

export interface EditorOptions {
  args?: string[];
  choose?: Choice;
  /** Fills a form in; without it the editor has no forms. */
  fill?: (form: CreateElicitationRequest) => CreateElicitationResponse;
}

export class Editor implements AsyncDisposable {
  readonly agent: ClientConnection["agent"];
  /** What it was told, in order. */
  readonly updates: SessionUpdate[] = [];
  readonly asked: RequestPermissionRequest[] = [];
  /** Questions that were taken back. */
  withdrawn = 0;
  readonly child: Deno.ChildProcess;
  readonly #connection: ClientConnection;
  readonly #said: Promise<string>;
  /** Ends the writing to the agent, whose input is then closed: the SDK leaves it open. */
  readonly #leave = new AbortController();
  readonly #written: Promise<void>;

  readonly #forms: boolean;

  constructor(place: Place, options: EditorOptions = {}) {
    const { args = [], choose = () => "deny", fill } = options;
    this.#forms = fill !== undefined;
    this.child = spawnSvc(place, ["acp", ...args], { stdin: "piped" });
    this.#said = toText(this.child.stderr);
    const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
    const { signal } = this.#leave;
    this.#written = readable.pipeTo(this.child.stdin, { signal, preventAbort: true })
      .catch(() => {});
    this.#connection = client({ name: "editor" })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params.update);
      })
      .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
        this.asked.push(params);
        signal.addEventListener("abort", () => this.withdrawn++);
        return { outcome: { outcome: "selected", optionId: await choose(params) } };
      })
      .onRequest(methods.client.elicitation.create, ({ params }) => fill!(params))
      .connect(ndJsonStream(writable, this.child.stdout));
    this.agent = this.#connection.agent;
  }

  /** Introduces itself, and opens a session in a directory. */
  async open(cwd: string): Promise<string> {
    await this.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: this.#forms ? { elicitation: { form: {} } } : {},
    });
    const { sessionId } = await this.agent.request(methods.agent.session.new, {
      cwd,
      mcpServers: [],
    });
    return sessionId;
  }

  /** Sends a text. @returns why its turn stopped. */
  async prompt(sessionId: string, text: string): Promise<string> {
    const { stopReason } = await this.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }],
    });
    return stopReason;
  }

  /** What the agent has said so far. */
  text(role: "agent" | "user" = "agent"): string {
    return this.of(`${role}_message_chunk`)
      .map(({ content }) => content.type === "text" ? content.text : "").join("");
  }

  /** The updates of a kind. */
  of<K extends SessionUpdate["sessionUpdate"]>(kind: K): Extract<
    SessionUpdate,
    { sessionUpdate: K }
  >[] {
    return this.updates.filter((it) => it.sessionUpdate === kind) as Extract<
      SessionUpdate,
      { sessionUpdate: K }
    >[];
  }

  /** Resolves once what it was told fits. */
  async told(fits: (updates: SessionUpdate[]) => boolean, what: string): Promise<void> {
    await until(() => fits(this.updates), what);
  }

  /** What svc said beside the protocol, once it has ended. */
  async ended(): Promise<{ code: number; said: string }> {
    this.#connection.close();
    this.#leave.abort();
    await this.#written;
    await this.child.stdin.close().catch(() => {});
    const { code } = await this.child.status;
    return { code, said: await this.#said };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ended();
  }
}
