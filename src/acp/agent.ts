/** svc as an ACP agent: editors use the daemon's sessions, which stay when an editor closes. */
import {
  agent,
  type AgentApp,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { toSvcError, withHint } from "../protocol/errors.ts";
import { Sessions, type SessionsOptions } from "./sessions.ts";

interface AcpAgentOptions extends SessionsOptions {
  version: string;
}

/** Returns the agent; `connect` it to the editor's stream. */
export function acpAgent(options: AcpAgentOptions): AgentApp {
  const app = agent({ name: "svc" });
  let sessions: Sessions;
  app.onConnect(({ client, closed, close }) => {
    sessions = new Sessions(options, client, close);
    closed.finally(() => sessions.close());
  });
  return app
    .onRequest(methods.agent.initialize, ({ params }) => {
      sessions.introduced(params.clientCapabilities ?? {});
      return introduction(options.version);
    })
    .onRequest(methods.agent.session.new, ({ params }) => answer(() => sessions.start(params)))
    .onRequest(methods.agent.session.load, ({ params }) => answer(() => sessions.load(params)))
    .onRequest(methods.agent.session.resume, ({ params }) => answer(() => sessions.resume(params)))
    .onRequest(methods.agent.session.list, ({ params }) => answer(() => sessions.list(params.cwd)))
    .onRequest(
      methods.agent.session.close,
      ({ params }) => answer(() => sessions.leave(params.sessionId)),
    )
    .onRequest(
      methods.agent.session.delete,
      ({ params }) => answer(() => sessions.end(params.sessionId)),
    )
    .onRequest(
      methods.agent.session.setMode,
      ({ params }) => answer(() => sessions.setMode(params.sessionId, params.modeId)),
    )
    .onRequest(methods.agent.session.prompt, ({ params }) => answer(() => sessions.prompt(params)))
    .onNotification(
      methods.agent.session.cancel,
      ({ params }) => sessions.cancel(params.sessionId),
    );
}

function introduction(version: string): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "svc", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { embeddedContext: true, image: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
    },
    authMethods: [],
  };
}

/** Converts errors of verbs to those of the protocol. */
async function answer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    const refused = toSvcError(error);
    const { code } = refused;
    const text = withHint(refused);
    if (code === "not_found") throw new RequestError(-32002, text);
    if (code === "validation") throw new RequestError(-32602, text);
    throw new RequestError(-32603, text);
  }
}
