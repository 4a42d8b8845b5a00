/** A machine with a proxy in its environment: what is on the machine is reached directly. */
import { assert, assertEquals } from "@std/assert";
import { startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

/** A proxy that notes what it is asked for, and has none of it. */
function refusingProxy() {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(request.url);
    return new Response("no such host", { status: 403 });
  });
  return { asked, address: `http://127.0.0.1:${server.addr.port}`, server };
}

/** From source, Deno looks for its own updates, too. */
const here = (asked: string[]) => asked.filter((url) => /127\.0\.0\.\d|localhost/.test(url));

/** Asks in a daemon of its own, which reads daemon.toml and the environment. */
async function ask(place: Place, workdir: string) {
  const daemon = await place.serve();
  try {
    return await place.svc(["chat", workdir, "-m", "local/m", "-p", "hi"]);
  } finally {
    await daemon.stop();
  }
}

for (const variable of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) {
  Deno.test({
    name:
      `with ${variable}, models, the daemon and svc doctor are reached directly, other hosts are not (google-gemini/gemini-cli#3340)`,
    ignore,
    async fn() {
      const proxy = refusingProxy();
      const models = startOpenAiServer(() => ({ text: "hello" }), { open: true });
      try {
        await using place = new Place({ [variable]: proxy.address, NO_PROXY: "other.test" });
        const { port } = new URL(models.url);
        const workdir = place.mkdir("project");
        for (const host of ["127.0.0.1", "localhost"]) {
          place.useLocalModel(`http://${host}:${port}/v1`);
          const { code, stdout, stderr } = await ask(place, workdir);
          assertEquals([code, stdout], [0, "hello\n"], stderr);
          assertEquals(here(proxy.asked), []);
        }
        const doctor = await place.svc(["doctor"]);
        assertEquals(here(proxy.asked), [], doctor.stdout);
        // The control: the proxy is asked for what is elsewhere.
        place.useLocalModel("http://models.elsewhere.test/v1");
        const far = await ask(place, workdir);
        assertEquals(far.code, 1, far.stdout);
        assert(proxy.asked.some((url) => url.includes("models.elsewhere.test")));
      } finally {
        await models.close();
        await proxy.server.shutdown();
      }
    },
  });
}
