/** Model calls through a proxy, and to a server whose certificate comes from one's own authority. */
import { assertEquals, assertMatch } from "@std/assert";
import { startOpenAiServer } from "../support/model_servers.ts";
import { certificates } from "../support/own_authority.ts";
import { hasProgram } from "../support/programs.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !hasProgram("openssl");
const HOST = "models.example";

/** A proxy that leads each CONNECT to one port of this machine. */
function connectProxy(port: number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const heads: string[] = [];
  const open = new Set<Deno.Conn>();
  const lead = async (client: Deno.Conn) => {
    const buffer = new Uint8Array(8_192);
    const count = await client.read(buffer) ?? 0;
    heads.push(new TextDecoder().decode(buffer.subarray(0, count)));
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    for (const it of [client, server]) open.add(it);
    await client.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  };
  const leading: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const client of listener) leading.push(lead(client).catch(() => {}));
  })();
  return {
    heads,
    port: (listener.addr as Deno.NetAddr).port,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const it of open) {
        try {
          it.close();
        } catch {
          // The pipes have closed it.
        }
      }
      await Promise.all([accepting, ...leading]);
    },
  };
}

Deno.test({
  name: "turns go through HTTPS_PROXY, and trust the authority of SSL_CERT_FILE or DENO_CERT",
  ignore,
  async fn() {
    await using place = new Place({ OPENAI_API_KEY: "key-of-the-test" });
    // The test's own run may have another one.
    delete place.env.DENO_TLS_CA_STORE;
    const { ca, cert, key } = certificates(place.mkdir("tls"), HOST);
    const models = startOpenAiServer(() => ({ text: "hello" }));
    const { origin } = new URL(models.url);
    await using tls = Deno.serve(
      { hostname: "127.0.0.1", port: 0, cert, key, onListen() {} },
      async ({ url, method, headers, body }) => {
        const { pathname } = new URL(url);
        const sent = new Headers(headers);
        sent.delete("host");
        return await fetch(origin + pathname, { method, headers: sent, body });
      },
    );
    await using proxy = connectProxy(tls.addr.port);
    place.configure(`[cortex]\ncurator = false\n`);
    const workdir = place.mkdir("project");
    const ask = async (env: Record<string, string>) => {
      const before = { ...place.env };
      Object.assign(place.env, env);
      const daemon = await place.serve();
      try {
        return await place.svc(["chat", workdir, "-m", "openai/gpt-5.1", "-p", "hi"]);
      } finally {
        await daemon.stop();
        for (const name of Object.keys(env)) delete place.env[name];
        Object.assign(place.env, before);
      }
    };
    try {
      const direct = { OPENAI_BASE_URL: `https://localhost:${tls.addr.port}/v1` };
      const unknown = await ask(direct);
      assertEquals(unknown.code, 1);
      assertMatch(unknown.stderr, /certificate/);
      for (const variable of ["SSL_CERT_FILE", "DENO_CERT"]) {
        const { stdout, stderr } = await ask({ ...direct, [variable]: ca });
        assertEquals([stdout, stderr.includes("certificate")], ["hello\n", false], variable);
      }
      assertEquals(proxy.heads, []);
      const there = {
        OPENAI_BASE_URL: `https://${HOST}/v1`,
        HTTPS_PROXY: `http://me:secret@127.0.0.1:${proxy.port}`,
        SSL_CERT_FILE: ca,
      };
      assertEquals((await ask(there)).stdout, "hello\n");
      // From source, Deno looks for its own updates, too.
      const asked = () => proxy.heads.filter((head) => head.startsWith(`CONNECT ${HOST}:443 `));
      assertMatch(asked()[0], /proxy-authorization: Basic bWU6c2VjcmV0/i);
      const before = asked().length;
      assertEquals((await ask({ ...there, ...direct, NO_PROXY: "localhost" })).stdout, "hello\n");
      assertEquals(asked().length, before);
    } finally {
      await models.close();
    }
  },
});
