/** MCP in a daemon: clients over HTTP, and of `svc mcp-serve`. */
import * as z from "zod";
import { InvalidParams } from "../../protocol/errors.ts";
import { catalogChoiceSchema } from "../../protocol/schemas/mcp.ts";
import type { Receiver, Send } from "../rpc/connection.ts";
import type { Dispatcher } from "../../verbs/define.ts";
import { Catalogs } from "./catalog.ts";
import { McpHttp } from "./http.ts";
import { LineEntry } from "./line_entry.ts";
import { LineTransport } from "./lines.ts";
import { McpServer } from "./server.ts";

/** Options of a connection that switches to MCP. */
const CONNECT = catalogChoiceSchema();

export class McpHost {
  readonly #dispatcher: Dispatcher;
  readonly #catalogs: Catalogs;
  readonly http: McpHttp;

  /** @param body_max largest request body, bytes */
  constructor(dispatcher: Dispatcher, body_max: number) {
    this.#dispatcher = dispatcher;
    this.#catalogs = new Catalogs(dispatcher.verbs);
    this.http = new McpHttp({ dispatcher, catalogs: this.#catalogs, body_max });
  }

  /** Serves a connection with one message per line. @throws {SvcError} validation */
  connect(options: unknown, send: Send): Receiver {
    const parsed = CONNECT.safeParse(options ?? {});
    if (!parsed.success) throw new InvalidParams(`$/mcp: ${z.prettifyError(parsed.error)}`);
    const choice = parsed.data;
    const parts = { dispatcher: this.#dispatcher, catalogs: this.#catalogs };
    return new LineEntry({
      async withSession() {
        const transport = new LineTransport(send);
        // The transport has its own back-pressure.
        await McpServer.serve({ ...parts, choice, transport, pressure: () => undefined });
        return transport;
      },
      async stateless() {
        const transport = new LineTransport(send);
        const { serveStateless } = await import("./stateless.ts");
        serveStateless(parts, choice, transport);
        return transport;
      },
    });
  }
}
