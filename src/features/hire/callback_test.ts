import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { PRIVATE } from "../../../tests/support/private_network.ts";
import { Egress } from "../../net/egress.ts";
import { SvcError } from "../../protocol/errors.ts";
import { UndeliverableError } from "../tasks/callbacks.ts";
import type { TaskRecord } from "../tasks/task.ts";
import { callbackSender } from "./callback.ts";
import { type Accepted, Hiring } from "./hiring.ts";
import { HireTokens } from "./tokens.ts";

const tokens = new HireTokens(["token"]);
const key_id = tokens.identify("token")!;
const record: TaskRecord = {
  id: "t-01",
  status: "completed",
  task_type: "research",
  created_at: "2026-01-01T00:00:00.000Z",
  attempts: 1,
};

/** Takes a request whose end is to be reported to an address. @throws {SvcError} */
function accept(callback_url: string): Accepted {
  const hiring = new Hiring({
    version: "0",
    caps: ["research"],
    timeout_ms: 1,
    budget_usd: () => 1,
    tokens,
    shared: () => false,
    quota: () => ({}),
    engine: () => Promise.reject(new Error("nothing is begun")),
  });
  return hiring.accept({ task_type: "research", query: "x", callback_url });
}

Deno.test({
  name: "no name of a private address is told of the end of a task",
  ignore: !granted("net", "sys"),
  async fn() {
    const asked: string[] = [];
    const server = Deno.serve({ hostname: "0.0.0.0", port: 0, onListen() {} }, ({ url }) => {
      asked.push(url);
      return new Response();
    });
    const egress = () => Promise.resolve(new Egress({ allow_private: false, own_ports: () => [] }));
    const deliver = callbackSender({ tokens, egress });
    const { signal } = new AbortController();
    for (const [address, reason] of PRIVATE) {
      const url = address.replace("<port>", String(server.addr.port));
      const tell = async () => {
        accept(url);
        await deliver({ id: "", url, key_id, task_id: record.id, tries: 0 }, record, signal);
      };
      const refused = reason === "not a public address" ? UndeliverableError : SvcError;
      await assertRejects(tell, refused, reason, address);
    }
    assertEquals(asked, []);
    await server.shutdown();
  },
});
