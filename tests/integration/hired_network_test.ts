/**
 * What a hired task reaches of the network behind this machine: nothing, by whatever name, and by
 * whatever a page in a real Chromium can do. The pages come from a site that counts as public.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Egress } from "../../src/net/egress.ts";
import { browserExecutor } from "../../src/features/tasks/executors/browser/executor.ts";
import type { Deliverable } from "../../src/features/tasks/task.ts";
import { chromiumPath } from "../support/browser.ts";
import { PRIVATE, PUBLIC_NAME, WithPublicSite } from "../support/private_network.ts";
import { html, Site } from "../support/site.ts";
import { tests_source } from "../support/svc.ts";

const ignore = chromiumPath() === undefined || !tests_source;

/** A server on every address of this machine, and the paths it was asked for. */
class Inside implements AsyncDisposable {
  readonly asked = new Set<string>();
  readonly origin: string;
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = new AbortController();

  constructor() {
    const { signal } = this.#closing;
    this.#server = Deno.serve(
      { hostname: "0.0.0.0", port: 0, onListen() {}, signal },
      (request) => {
        this.asked.add(new URL(request.url).pathname);
        const headers = { "access-control-allow-origin": "*", "content-type": "text/html" };
        return new Response("the secret of the inside", { headers });
      },
    );
    this.port = this.#server.addr.port;
    this.origin = `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#server.finished;
  }
}

/** How long a page may take on a machine that is busy. */
const PAGE_MS = 60_000;

/** Looks at a path of a site as a hired task does, once a text is there. */
async function look(
  site: Site,
  path: string,
  egress: Egress,
  text = "all done",
): Promise<Deliverable> {
  const scratch = await Deno.makeTempDir({ prefix: "svc-net-" });
  try {
    const executor = browserExecutor({
      writable: () => [],
      env: (name) => Deno.env.get(name),
      scratch: () => scratch,
      egress: () => Promise.resolve(egress),
    });
    const url = `http://${PUBLIC_NAME}:${site.port}${path}`;
    const extra = { url, actions: [{ type: "wait", text, ms: PAGE_MS }] };
    return await executor.run({ task_type: "browser", query: "look", effort: "minimal", extra }, {
      task_id: "t-01",
      hired: true,
      signal: new AbortController().signal,
      leaving: new AbortController().signal,
      attempt: 1,
      canary: "svc-canary-0",
      note() {},
      keep: ({ name, media_type }) =>
        Promise.resolve({ name, media_type, size: 0, sha256: "", url: "" }),
    });
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

function strict(): Egress {
  return new WithPublicSite({ allow_private: false, own_ports: () => [] });
}

Deno.test({ name: "wherever a page leads, the task fails and says why", ignore }, async () => {
  await using inside = new Inside();
  const to = (path: string) => `${inside.origin}${path}`;
  const script = (code: string) => html(`<p>hello</p><script>${code}</script>`);
  const pages: Record<string, () => Response> = {
    "/301": () => new Response(null, { status: 301, headers: { location: to("/301") } }),
    "/refresh": () => html(`<meta http-equiv=refresh content="0;url=${to("/refresh")}">`),
    "/script": () => script(`location = "${to("/script")}"`),
    "/form": () =>
      html(`<form id=f method=post action="${to("/form")}"></form><script>f.submit()</script>`),
  };
  await using site = new Site(({ pathname }) => pages[pathname]?.());
  for (const path of Object.keys(pages)) {
    // What Chromium shows in the place of a page.
    const { verification } = await look(site, path, strict(), "ERR_");
    const [{ passed, evidence }] = verification!;
    assertEquals([passed, evidence], [false, "127.0.0.1 is not a public address"], path);
  }
  assertEquals([...inside.asked], []);
});

/** Ways for a page to have something loaded, each by the path it asks for. */
function everything(origin: string, ws: string): string {
  return `<title>all</title>
    <link rel=stylesheet href="${origin}/link"><link rel=prefetch href="${origin}/prefetch">
    <link rel=preload as=image href="${origin}/preload"><link rel=icon href="${origin}/icon">
    <style>@import "${origin}/import"; p { background: url(${origin}/background) }
      @font-face { font-family: f; src: url(${origin}/font) } p { font-family: f }</style>
    <p>text</p><img src="${origin}/img"><img srcset="${origin}/srcset 1x">
    <iframe src="${origin}/iframe"></iframe><object data="${origin}/object"></object>
    <embed src="${origin}/embed"><video src="${origin}/video" autoplay muted></video>
    <audio src="${origin}/audio" preload=auto></audio><script src="${origin}/script"></script>
    <svg><image href="${origin}/svg"/></svg>
    <script type=module>
      const { signal } = new AbortController();
      const settled = [
        fetch("${origin}/fetch", { mode: "no-cors" }),
        new Promise((done) => {
          const xhr = new XMLHttpRequest();
          xhr.onloadend = done;
          xhr.open("GET", "${origin}/xhr");
          xhr.send();
        }),
        new Promise((done) => {
          const socket = new WebSocket("${ws}/websocket");
          socket.onclose = socket.onerror = done;
        }),
        new Promise((done) => {
          const source = new EventSource("${origin}/eventsource");
          source.onerror = () => { source.close(); done(); };
        }),
        new Promise((done) => {
          const code = 'fetch("${origin}/worker", { mode: "no-cors" }).finally(() => postMessage(1))';
          const worker = new Worker(URL.createObjectURL(new Blob([code])));
          worker.onmessage = done;
        }),
        navigator.serviceWorker?.register("/service.js").then(() => navigator.serviceWorker.ready),
        import("${origin}/module"),
        new Promise((done) => {
          const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:9" }] });
          peer.createDataChannel("x");
          peer.onicecandidate = ({ candidate }) => candidate === null && done();
          peer.createOffer().then((offer) => peer.setLocalDescription(offer));
          setTimeout(done, 1_000);
        }),
      ];
      navigator.sendBeacon("${origin}/beacon", "x");
      window.open("${origin}/open");
      await Promise.allSettled(settled);
      document.body.append("all done");
    </script>`;
}

Deno.test({ name: "nothing that a page has loaded is inside", ignore }, async () => {
  await using inside = new Inside();
  await using site = new Site(({ pathname }) => {
    if (pathname === "/service.js") {
      const code = `fetch("${inside.origin}/service", { mode: "no-cors" }).catch(() => {})`;
      return new Response(code, { headers: { "content-type": "text/javascript" } });
    }
    if (pathname !== "/") return undefined;
    return html(everything(inside.origin, `ws://127.0.0.1:${inside.port}`));
  });
  const { summary } = await look(site, "/", strict());
  assertMatch(summary, /all done$/);
  assertEquals([...inside.asked], []);
  // Where private addresses are allowed the same page does reach it, so that this shows something.
  const open = new WithPublicSite({ allow_private: true, own_ports: () => [] });
  assertStringIncludes((await look(site, "/", open)).summary, "all done");
  for (const way of ["link", "img", "iframe", "script", "fetch", "xhr", "websocket", "worker"]) {
    assert(inside.asked.has(`/${way}`), `${way} was not tried: ${[...inside.asked]}`);
  }
});

Deno.test({ name: "no name of a private address leads a page inside", ignore }, async () => {
  await using inside = new Inside();
  const addresses = PRIVATE.map(([address]) => address.replace("<port>", String(inside.port)));
  await using site = new Site(({ pathname }) =>
    pathname !== "/" ? undefined : html(
      `<p>text</p><script type=module>
         const addresses = ${JSON.stringify(addresses).replaceAll("</", "<\\/")};
         await Promise.allSettled(addresses.map(async (it) => {
           document.body.append(Object.assign(new Image(), { src: it }));
           await fetch(it, { mode: "no-cors" });
         }));
         document.body.append("all done");
       </script>`,
    )
  );
  const { summary } = await look(site, "/", strict());
  assertMatch(summary, /all done$/);
  assertEquals([...inside.asked], []);
});
