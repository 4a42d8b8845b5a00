/** A web site on loopback for one test. */
export class Site implements AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  /** Paths that were asked for, in order. */
  readonly asked: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = new AbortController();

  /** @param answer by the path; what is undefined is answered with 404. */
  constructor(answer: (url: URL, request: Request) => Response | undefined | Promise<Response>) {
    const { signal } = this.#closing;
    const at = { hostname: "127.0.0.1", port: 0, onListen() {}, signal };
    this.#server = Deno.serve(at, (request) => {
      const url = new URL(request.url);
      this.asked.push(url.pathname);
      return answer(url, request) ?? new Response("not here", { status: 404 });
    });
    this.port = this.#server.addr.port;
    this.origin = `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A graceful shutdown would wait for connections that a browser keeps for later.
    this.#closing.abort();
    await this.#server.finished;
  }
}

/** An HTML page. */
export function html(body: string): Response {
  return new Response(body, { headers: { "content-type": "text/html; charset=utf-8" } });
}

/** A page about herons, long enough to be an article. */
export function heronPage(): Response {
  return html(
    "<title>Herons</title><nav>Home About Shop</nav><article><h1>Herons</h1>" +
      "<p>The grey heron stands still for hours before it strikes.</p>" +
      "<p>It eats fish, frogs and now and then a young water bird that comes too near.</p>" +
      "<p>Herons build their nests of sticks high up in old trees, many of them side by side.</p>" +
      "<p>In flight the heron draws its neck back, which tells it from a stork or a crane.</p>" +
      "</article><footer>Imprint and privacy</footer>",
  );
}
